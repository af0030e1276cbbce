// The kernels of elimination, each called on the host by the addresses of its arguments.
#include "on_host.h"
#include "eliminate.cu"
#include "eliminate_around.cu"
#include "eliminate_close.cu"

QE_ON_HOST(eliminate_message)
QE_ON_HOST(eliminate_join)
QE_ON_HOST(eliminate_lengths)
QE_ON_HOST(eliminate_product)
QE_ON_HOST(eliminate_ones)
QE_ON_HOST(eliminate_total)
QE_ON_HOST(eliminate_term)
QE_ON_HOST(eliminate_counts)
QE_ON_HOST(eliminate_around)
QE_ON_HOST(eliminate_owners)
QE_ON_HOST(eliminate_close)
QE_ON_HOST(eliminate_triangles)
QE_ON_HOST(eliminate_mirror)
