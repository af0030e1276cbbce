// The kernels of the extension, each called on the host by the addresses of its arguments.
#include "on_host.h"
#include "extend.cu"

QE_ON_HOST(extend_seeds)
QE_ON_HOST(extend_bound)
QE_ON_HOST(extend_fill)
QE_ON_HOST(extend_link)
QE_ON_HOST(extend_gather)
QE_ON_HOST(extend_count)
QE_ON_HOST(extend_tell)
