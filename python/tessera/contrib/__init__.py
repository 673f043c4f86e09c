"""Tools around the compiler: linkers, archives, temporary folders."""
