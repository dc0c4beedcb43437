//===- EplKernelAttrs.td - Attributes of kernels -------------------------===//
#ifndef EPL_KERNEL_ATTRS
#define EPL_KERNEL_ATTRS

include "dialect/EplAttrs.td"

def Epl_GemmAttr : Epl_Attr<"Gemm", "gemm"> {
  let summary = "a contraction as a matrix library takes it";
  let description = [{
    `c = op(a) op(b)`, row major, `op(a)` is m x k, `op(b)` is k x n; `accumulate` adds to what `c` holds.
    `batch` holds quadruples (extent, stride of a, of b, of c), in elements, outermost first. The leading
    dimensions are in elements.
  }];
  let parameters = (ins "int64_t":$m, "int64_t":$n, "int64_t":$k, "int64_t":$lda, "int64_t":$ldb, "int64_t":$ldc,
                        "bool":$transpose_a, "bool":$transpose_b, "bool":$accumulate,
                        OptionalArrayRefParameter<"int64_t">:$batch);
  let assemblyFormat = [{
    `<` struct($m, $n, $k, $lda, $ldb, $ldc, $transpose_a, $transpose_b, $accumulate) (`,` `batch` `=` `[` $batch^ `]`)? `>`
  }];
}

def Epl_EpilogueAttr : Epl_Attr<"Epilogue", "epilogue"> {
  let summary = "what a matrix library does with a product before it stores it";
  let description = [{
    With `bias` the kernel's last input, n elements, is added to each row. Then `activation`: `relu` is max(x, 0),
    `gelu` is x / 2 (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))). Only libraries of GPUs do that.
  }];
  let parameters = (ins "bool":$bias, EnumParameter<Epl_Activation>:$activation);
  let assemblyFormat = "`<` struct(params) `>`";
}

def Epl_ConvolutionAttr : Epl_Attr<"Convolution", "convolution"> {
  let summary = "a contraction as a library of convolutions takes it";
  let description = [{
    Three tensors fulfil `output[n, g, k, o] = sum over c, t of image[n, g, c, i] * filter[g, k, c, t]`, where along
    each axis `i = stride * o + dilation * t - before`; outside of the image there are zeros. The kernel computes
    what it `writes`: the output, or the gradient of the image or of the filter by the same products. With `flips`
    the filter's taps are in reverse order. `accumulate` adds to what the kernel's last input holds.

    `operands` are image, filter and output among the kernel's inputs and, behind these, its result. `samples` (n),
    `groups` (g), `channels` (c) and `features` (k) are each an extent and the strides in image, filter and output,
    in elements; 0 where a tensor lacks it. `axes` holds for each axis, 1 to 3 of them, ten numbers: the extents
    of image, filter and output, the strides in these, stride, dilation, and the zeros before and after the image.
    `output = floor((image + before + after - dilation * (filter - 1) - 1) / stride) + 1`.

    Constraints:
    - (C1) four numbers for each dimension, ten for each of 1 to 3 axes, three operands.
    - (C2) extents, `stride` and `dilation` are positive, other numbers not negative.
  }];
  let parameters = (ins EnumParameter<Epl_ConvolutionTensor>:$writes, ArrayRefParameter<"int64_t">:$operands,
                        "bool":$flips, "bool":$accumulate,
                        ArrayRefParameter<"int64_t">:$samples, ArrayRefParameter<"int64_t">:$groups,
                        ArrayRefParameter<"int64_t">:$channels, ArrayRefParameter<"int64_t">:$features,
                        ArrayRefParameter<"int64_t">:$axes);
  let assemblyFormat = [{
    `<` $writes `,` `operands` `=` `[` $operands `]` `,` struct($flips, $accumulate) `,`
    `samples` `=` `[` $samples `]` `,` `groups` `=` `[` $groups `]` `,` `channels` `=` `[` $channels `]` `,`
    `features` `=` `[` $features `]` `,` `axes` `=` `[` $axes `]` `>`
  }];
  let genVerifyDecl = 1;
}

def Epl_AttentionAttr : Epl_Attr<"Attention", "attention"> {
  let summary = "a product that a library may compute as attention, with the two launches before it";
  let description = [{
    The kernel multiplies `p`, its first input, by `v`, the second one, where a launch has made `p` of the product
    `q k^T` of its last two inputs: `p = softmax(scale * q k^T)` along rows, rounded to the type of `v`. With `causal`
    row i has its first i + 1 columns alone. All of these launches are one call of a library on a GPU, if it takes
    that: then nobody makes `p`, which has no other reader.

    A second result is what the library keeps of each row for the gradient (`attention_gradient`), in f32; without a
    library it is anything. Then the launches before the gradient, for which it stands, read `p`, too, and what else
    is made with it.

    Constraints:
    - (C1) `scale` is an f32, and finite.
  }];
  let parameters = (ins "::mlir::FloatAttr":$scale, "bool":$causal);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
}

def Epl_AttentionGradientAttr : Epl_Attr<"AttentionGradient", "attention_gradient"> {
  let summary = "gradients of attention, which a library may compute in the place of launches";
  let description = [{
    The kernel's inputs are gradients of q, k and v, which it gives on; q, k, v and o of attention, the gradient of o,
    and what the attention has kept of its rows. The `parts` launches before it in its task have made its first three
    inputs. On a GPU a library may make these of the others instead, for all of those launches, whose other results
    nobody else reads.

    `steps` are, for each of the inputs but the last one, the steps to the next sample, head and position, in elements.

    Constraints:
    - (C1) `parts` is positive, and there are 24 steps, all of them positive.
  }];
  let parameters = (ins "int64_t":$parts, ArrayRefParameter<"int64_t">:$steps);
  let assemblyFormat = "`<` `parts` `=` $parts `,` `steps` `=` `[` $steps `]` `>`";
  let genVerifyDecl = 1;
}

def Epl_CopyAttr : Epl_Attr<"Copy", "copy"> {
  let summary = "bytes of an input that a result takes as they are";
  let description = [{
    The `size` bytes that begin `from` bytes into the input go to where `to` bytes of the result end.
  }];
  let parameters = (ins "int64_t":$from, "int64_t":$to, "int64_t":$size);
  let assemblyFormat = "`<` struct(params) `>`";
}

def Epl_GridAttr : Epl_Attr<"Grid", "grid"> {
  let summary = "the threads of a GPU that run a kernel, or one of its phases";
  let description = [{
    `blocks` blocks of `threads` threads, each block with `shared` bytes of shared memory beside what the code
    declares. `group` threads that follow one another work together. Of all G groups, group g runs the indices
    [i * slice, (i + 1) * slice) of [0, extent) for i = g, g + G, g + 2 G, ...
  }];
  let parameters = (ins "int64_t":$blocks, "int64_t":$threads, "int64_t":$shared, "int64_t":$group,
                        "int64_t":$slice, "int64_t":$extent);
  let assemblyFormat = "`<` struct(params) `>`";
}

#endif // EPL_KERNEL_ATTRS
