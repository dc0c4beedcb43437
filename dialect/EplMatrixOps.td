//===- EplMatrixOps.td - Ops on whole matrices, by a library --------------===//
#ifndef EPL_MATRIX_OPS
#define EPL_MATRIX_OPS

include "dialect/EplIndexedOps.td"

def Epl_FactorizationKind : Epl_Enum<"FactorizationKind", "what a matrix is factored into", [
  I32EnumAttrCase<"cholesky", 0>,
  I32EnumAttrCase<"lu", 1>,
  I32EnumAttrCase<"qr", 2>,
  I32EnumAttrCase<"orthogonal", 3>,
  I32EnumAttrCase<"eigh", 4>,
  I32EnumAttrCase<"svd", 5>
]>;
def Epl_FactorizationAttr : EnumAttr<Epl_Dialect, Epl_FactorizationKind, "factorization">;

def Epl_FloatTensor : RankedTensorOf<[F32, F64], [], "tensor of f32 or f64">;
def Epl_FactorTensor : RankedTensorOf<[F32, F64, I32], [], "tensor of f32, f64 or i32">;

def Epl_FactorizeOp : Epl_Op<"factorize", [Epl_TensorLevel, Pure]> {
  let summary = "factors matrices";
  let description = [{
    The last two dimensions of the first operand are matrices, m x n with k the smaller of the two; all others
    are a batch, the first dimensions of each operand and result. What it makes of one matrix:

    | kind | operands | results |
    |---|---|---|
    | `cholesky` | a: n x n | l: n x n, a = l l^T, zero above its diagonal |
    | `lu` | a: m x n | l and u in one m x n, without l's diagonal of ones; the k rows with which rows 0, 1, ... changed places, and the m rows of a that are those of l u, in i32 |
    | `qr` | a: m x n | r, below its diagonal the reflectors of q, m x n; their k factors |
    | `orthogonal` | reflectors: m x n, and j factors of them | q: the first n columns of their product, m x n |
    | `eigh` | a: n x n | v: n x n, the eigenvectors as columns; the n eigenvalues, ascending |
    | `svd` | a: m x n | the k singular values, descending; or these, u: m x k and vt: k x n; or m x m and n x n |

    `cholesky` and `eigh` read the lower triangle of a and take it for symmetric. Where there is no such
    factorization, and for eigenvalues and singular values of what is not finite, all results are NaN.

    ```mlir
    %l = epl.factorize cholesky %a : (tensor<4x8x8xf32>) -> tensor<4x8x8xf32>
    %lu, %pivots, %rows = epl.factorize lu %a : (tensor<8x8xf32>) -> (tensor<8x8xf32>, tensor<8xi32>, tensor<8xi32>)
    ```

    Constraints:
    - (C1) `orthogonal` has two operands, the others one; they have one element type and the same batch.
    - (C2) the matrix of `cholesky` and `eigh` is square; that of `orthogonal` has at most as many columns as
      rows and at least as many as there are factors.
    - (C3) the results are those of the table, with the batch and the element type of the operands.
  }];
  let arguments = (ins Epl_FactorizationAttr:$kind, Variadic<Epl_FloatTensor>:$operands);
  let results = (outs Variadic<Epl_FactorTensor>:$results);
  let assemblyFormat = "$kind $operands attr-dict `:` functional-type($operands, $results)";
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// The extents m and n of the matrix.
    int64_t getRows();
    int64_t getColumns();
    /// Whether it is an svd with vectors, and as many as m and n.
    bool hasVectors();
    bool isFull();
  }];
}

def Epl_TriangularSolveOp : Epl_Op<"triangular_solve", [Epl_TensorLevel, Pure, AllTypesMatch<["rhs", "result"]>]> {
  let summary = "solves systems of linear equations whose matrix is triangular";
  let description = [{
    With `left` the result x solves op(a) x = b, else x op(a) = b, for each matrix of the batch that all
    dimensions but the last two are. op(a) is a, or with `transpose` a transposed. Of a only the lower
    triangle is read with `lower`, else only the upper one; with `unit_diagonal` its diagonal counts as ones.

    ```mlir
    %x = epl.triangular_solve %a, %b left lower : tensor<4x8x8xf32>, tensor<4x8x3xf32>
    ```

    Constraints:
    - (C1) a and b have one element type, rank and batch.
    - (C2) a is square, of b's rows with `left`, else of b's columns.
  }];
  let arguments = (ins Epl_FloatTensor:$matrix, Epl_FloatTensor:$rhs, UnitAttr:$left, UnitAttr:$lower,
                       UnitAttr:$transpose, UnitAttr:$unit_diagonal);
  let results = (outs Epl_FloatTensor:$result);
  let assemblyFormat = [{
    $matrix `,` $rhs (`left` $left^)? (`lower` $lower^)? (`transpose` $transpose^)?
    (`unit_diagonal` $unit_diagonal^)? attr-dict `:` type($matrix) `,` type($rhs)
  }];
  let hasVerifier = 1;
}

#endif // EPL_MATRIX_OPS
