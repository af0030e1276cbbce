// Tables of layouts: for each struct its size, the offset of each field in order, kLayoutEnd.
#pragma once
#include <cstddef>
#include <cstdint>

namespace qe {

constexpr int32_t kLayoutEnd = -1;

#define QE_AT(type, field) static_cast<int32_t>(offsetof(type, field))

}  // namespace qe
