// Makes a kernel callable on the host by the addresses of its arguments: QE_ON_HOST(name), after the kernel.
#pragma once
#include <utility>

#include "warps.h"

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

// Fills shared memory with what nobody should read.
extern "C" void emulator_fill() { std::memset(shared, 0xA5, sizeof shared); }

// Has a kernel written to shared memory from this byte on?
extern "C" bool emulator_overrun(size_t begin) {
  return std::any_of(shared + begin, shared + sizeof shared, [](char byte) { return byte != static_cast<char>(0xA5); });
}

// What was seen of the stop flag since the last call; from look number stop_at on it is set: emulator::Watch.
extern "C" void emulator_watch(int64_t stop_at, int64_t* seen) {
  const emulator::Watch before = emulator::watch;
  seen[0] = before.looks, seen[1] = before.most_between, seen[2] = before.most_after;
  emulator::watch = {stop_at};
}
