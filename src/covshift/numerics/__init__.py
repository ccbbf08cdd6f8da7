"""What the methods compute with: kernels, quadratic programs, folds, threads, devices."""
