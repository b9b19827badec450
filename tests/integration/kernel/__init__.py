"""Kernel modules by DKMS, on hosts of each release with the headers of several kernels."""
