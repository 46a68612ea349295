// An empty translation unit: libfrazil.so is made of the archives it is linked with.
typedef int fz_empty;
