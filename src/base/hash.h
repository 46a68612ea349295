// Hashes and checksums: murmur3 (Iceberg bucket transform, object-store layout), xxh64 (bloom filters, hash maps), CRC-32.
#ifndef FZ_BASE_HASH_H
#define FZ_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

uint32_t fz_murmur3_32(const void *data, size_t len, uint32_t seed); // x86 32-bit variant
uint64_t fz_hash64(const void *data, size_t len, uint64_t seed); // XXH64
uint32_t fz_crc32(uint32_t crc, const void *data, size_t len); // IEEE; start with 0, chain by passing the last result

#endif
