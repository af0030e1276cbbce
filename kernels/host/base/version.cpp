// The interface's version: Python refuses a library of another one.
#include "qe/abi.h"

QE_API int32_t qe_abi_version() { return 1; }
