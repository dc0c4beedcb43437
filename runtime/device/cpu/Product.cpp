#include "runtime/device/cpu/Product.h"

#include "runtime/device/cpu/Blas.h"
#include "runtime/device/cpu/OneDnn.h"

namespace epl::runtime {

void multiply(const Product<float> &product) {
  if (const OneDnn *library = OneDnn::getIfAhead(product.m, product.n, product.k))
    library->multiply(product);
  else
    Blas::get().multiply(product);
}

void multiply(const Product<double> &product) { Blas::get().multiply(product); }

} // namespace epl::runtime
