//===- kernels.cpp - Kernels as LLVM makes them ---------------------------===//
//
// Compiled for NVPTX, run by ProgramsTest.cpp. Arrays have rows of `width` elements.
//
//===----------------------------------------------------------------------===//

#define KERNEL extern "C" __attribute__((device_kernel))
#define SHARED static __attribute__((address_space(3)))

static int thread() { return __nvvm_read_ptx_sreg_tid_x(); }
static int threads() { return __nvvm_read_ptx_sreg_ntid_x(); }
static int block() { return __nvvm_read_ptx_sreg_ctaid_x(); }
static void synchronize() { __syncthreads(); }

SHARED float partial[32];

/// The sum over all threads of a block, in the order of its warps; every thread has it.
static float sumOfBlock(float value) {
  for (int by = 16; by > 0; by /= 2)
    value += __nvvm_shfl_sync_bfly_f32(-1, value, by, 31);
  if (thread() % 32 == 0)
    partial[thread() / 32] = value;
  synchronize();
  float sum = 0;
  for (int warp = 0; warp < threads() / 32; ++warp)
    sum += partial[warp];
  return sum;
}

static float maximumOfBlock(float value) {
  for (int by = 16; by > 0; by /= 2)
    value = __builtin_fmaxf(value, __nvvm_shfl_sync_bfly_f32(-1, value, by, 31));
  if (thread() % 32 == 0)
    partial[thread() / 32] = value;
  synchronize();
  float most = partial[0];
  for (int warp = 1; warp < threads() / 32; ++warp)
    most = __builtin_fmaxf(most, partial[warp]);
  synchronize(); // `partial` may be written again
  return most;
}

/// A block a row.
KERNEL void softmax(const float *__restrict in, float *__restrict out, long width) {
  in += block() * width;
  out += block() * width;
  float most = -__builtin_inff();
  for (long i = thread(); i < width; i += threads())
    most = __builtin_fmaxf(most, in[i]);
  most = maximumOfBlock(most);
  float sum = 0;
  for (long i = thread(); i < width; i += threads())
    sum += __nvvm_ex2_approx_f((in[i] - most) * 1.44269504f);
  sum = sumOfBlock(sum);
  for (long i = thread(); i < width; i += threads())
    out[i] = __nvvm_ex2_approx_f((in[i] - most) * 1.44269504f) / sum;
}

/// A block of 256 threads for a tile of 32 x 32; the matrix has whole tiles only.
SHARED float tile[32][33];
KERNEL void transpose(const float *__restrict in, float *__restrict out, long width, long height) {
  int tilesAcross = width / 32, x = block() % tilesAcross * 32, y = block() / tilesAcross * 32;
  int column = thread() % 32, row = thread() / 32;
  for (int i = row; i < 32; i += 8)
    tile[i][column] = in[(y + i) * width + x + column];
  synchronize();
  for (int i = row; i < 32; i += 8)
    out[(x + i) * height + y + column] = tile[column][i];
}

/// A thread a column.
KERNEL void columnSums(const float *__restrict in, float *__restrict out, long width, long height) {
  long column = static_cast<long>(block()) * threads() + thread();
  if (column >= width)
    return;
  float sum = 0;
  for (long row = 0; row < height; ++row)
    sum += in[row * width + column];
  out[column] = sum;
}

/// Numbers of a histogram of 64 bins, which a block collects and adds.
SHARED int bins[64];
KERNEL void histogram(const int *__restrict in, int *__restrict out, long size) {
  for (int i = thread(); i < 64; i += threads())
    bins[i] = 0;
  synchronize();
  for (long i = static_cast<long>(block()) * threads() + thread(); i < size; i += 4L * threads())
    __nvvm_atom_add_gen_i(reinterpret_cast<int *>(&bins[in[i] & 63]), 1);
  synchronize();
  for (int i = thread(); i < 64; i += threads())
    __nvvm_atom_add_gen_i(&out[i], bins[i]);
}
