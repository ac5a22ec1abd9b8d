"""The interpreter of sweeps: a sweep as a program for one kernel that runs any sweep."""
