// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace lockstep::kernels::cpu {

struct Moments {
    float mean, rstd;
};

// The operands of a norm's backward for one row. d_sum, d_branch and dbias may be null, and dbeta
// is of the layer norm.
template <class T>
struct NormGradients {
    const T *dy, *d_sum, *sum, *gamma;
    T *dx, *d_branch;
    // These are added to. dbias gets the gradient of the branch: d_branch, or dx without it.
    float *dgamma, *dbeta, *dbias;
};

}  // namespace lockstep::kernels::cpu
