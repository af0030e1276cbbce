"""The samplers' step is the same source on host and GPU: its header compiles for the device."""

from __future__ import annotations

import pytest

from qengine.errors import DeviceError
from qengine.exec.gpu import nvrtc
from tests.unit.gpu.test_cuda_sources import CHECKOUT

KERNEL = """
#include "qe/sample.h"
extern "C" __global__ void walk(const qe::MatchPlan* plan, unsigned long long seed, int method, double* weights) {
  const qe::SampleId id = {seed, blockIdx.x * blockDim.x + threadIdx.x};
  int64_t value[qe::kMaxLevels];
  double weight = 1;
  for (int k = 0; k < plan->n_levels && weight > 0; ++k) {
    const uint32_t word = qe::sample_block(id, k).word[k % qe::kBlockLevels];
    if (plan->levels[k].kind == qe::kEdgeLevel) {
      weight *= static_cast<double>(qe::sample_edge(*plan, k, method, id, word, value));
      continue;
    }
    const qe::SampleStep step = qe::sample_step(*plan, plan->levels[k], value);
    if (method == qe::kAlley) {
      uint64_t kept = 0;
      qe::refine(*plan, k, step, value, [&kept](uint32_t) { ++kept; });
      weight *= static_cast<double>(kept);
    } else if (step.n == 0) {
      weight = 0;
    } else {
      const qe::SamplePlace place =
          qe::sample_place(*plan, plan->levels[k], step, value, qe::pick(id, k, word, step.n));
      weight *= qe::validate_vertex(*plan, k, step, place, value) ? static_cast<double>(step.n) : 0.0;
    }
  }
  weights[id.number] = weight;
}
"""


@pytest.mark.parametrize("architecture", [80, 90])
def test_the_header_compiles_for_the_device(architecture: int) -> None:
    try:
        nvrtc.version()
    except DeviceError as error:
        pytest.skip(f"this platform has no NVRTC: {error}")
    options = ["--std=c++17", f"--include-path={CHECKOUT / 'kernels' / 'include'}"]
    assert nvrtc.compile_program(KERNEL, "walk.cu", architecture, options)
