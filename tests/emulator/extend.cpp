// The kernels of the extension, each called on the host by the addresses of its arguments.
#include <utility>

#include "warps.h"
#include "extend.cu"

namespace {

template <typename... A, size_t... I>
void call(void (*kernel)(A...), void** arguments, std::index_sequence<I...>) {
  kernel(*static_cast<A*>(arguments[I])...);
}

template <typename... A>
void run(void (*kernel)(A...), unsigned blocks, unsigned threads, void** arguments) {
  emulator::run(blocks, threads, [&] { call(kernel, arguments, std::index_sequence_for<A...>()); });
}

}  // namespace

#define QE_ON_HOST(name) \
  extern "C" void name##_on_host(unsigned blocks, unsigned threads, void** arguments) { run(name, blocks, threads, arguments); }

QE_ON_HOST(extend_seeds)
QE_ON_HOST(extend_bound)
QE_ON_HOST(extend_fill)
QE_ON_HOST(extend_link)
QE_ON_HOST(extend_gather)
QE_ON_HOST(extend_count)
QE_ON_HOST(extend_tell)
