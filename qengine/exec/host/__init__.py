"""What runs on the CPU: searches, walks, joins and eliminations by the native kernels."""
