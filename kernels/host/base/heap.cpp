// Gives memory that was freed back to the system. Loading frees several times what a graph keeps, and glibc holds on to it.
#if defined(__linux__)
#include <malloc.h>
#endif

#include "qe/abi.h"

QE_API int32_t qe_trim_heap() {
#if defined(__GLIBC__)
  malloc_trim(0);
#endif
  return qe::kOk;
}
