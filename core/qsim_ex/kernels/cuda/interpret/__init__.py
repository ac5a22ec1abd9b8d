"""A sweep as a program for a kernel that runs any sweep."""
