# Writes OUT: a C++ file that gives the SHA-256 over the kernels' sources (sorted by path) as qe_source_hash().
set(all "")
foreach(file ${FILES})
  file(SHA256 ${file} one)
  string(APPEND all "${one}\n")
endforeach()
string(SHA256 digest "${all}")
file(WRITE ${OUT} "extern \"C\" __attribute__((visibility(\"default\"))) const char* qe_source_hash() { return \"${digest}\"; }\n")
