"""The GPU executor: the CPU's pipeline with matching on the device. CuPy is imported when it is first asked for."""
