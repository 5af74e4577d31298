// SPDX-License-Identifier: Apache-2.0
#include <cublasLt.h>
#include <doctest/doctest.h>

#include "runtime/kernels/cuda/matmul/product.hpp"
#include "tests/support/on_device.hpp"

// These tests need the emulated cuBLASLt. Its algorithm 1 is the fastest, and it expects algorithm
// 0 to be the fastest.

using namespace lockstep;
using namespace lockstep::tests;
using namespace lockstep::kernels::cuda;
using device::CudaContext;

namespace {

Product<float, float> product_of(const OnDevice<float>& x, const OnDevice<float>& c,
                                 std::int64_t rows) {
    return {x.matrix(rows, 4), Transpose::no, x.matrix(4, 4), Transpose::no, c.matrix(rows, 4)};
}

}  // namespace

TEST_CASE("an algorithm is searched for once a shape, whatever the addresses and factors") {
    CudaContext ctx(0);
    const OnDevice x(ctx, std::vector<float>(32, 1.0f)), c(ctx, std::vector<float>(32, 0.0f));
    const OnDevice other(ctx, std::vector<float>(32, 1.0f));
    const int before = emulated_searches();
    multiply(ctx, product_of(x, c, 4));
    CHECK(emulated_searches() == before + 1);
    auto again = product_of(other, c, 4);
    again.alpha = 3;
    multiply(ctx, again);
    CHECK(emulated_searches() == before + 1);
    CHECK(emulated_algorithm() == 0);

    multiply(ctx, product_of(x, c, 5));
    CHECK(emulated_searches() == before + 2);
    again.beta = 1;
    multiply(ctx, again);
    CHECK(emulated_searches() == before + 3);
    auto elsewhere = product_of(x, c, 4);
    elsewhere.c.data += 1;  // less aligned
    multiply(ctx, elsewhere);
    CHECK(emulated_searches() == before + 4);
}

TEST_CASE("autotune takes the algorithm that was fastest, and its trials leave the result alone") {
    CudaContext ctx(0);
    ctx.cached<ProductSettings>().autotune = true;
    const OnDevice x(ctx, std::vector<float>(16, 1.0f)), c(ctx, std::vector<float>(16, 10.0f));
    auto product = product_of(x, c, 4);
    product.beta = 1;
    multiply(ctx, product);
    CHECK(emulated_algorithm() == 1);
    CHECK(c.values() == std::vector<float>(16, 14.0f));
    product.beta = 0;
    multiply(ctx, product);
    CHECK(emulated_algorithm() == 1);
    CHECK(c.values() == std::vector<float>(16, 4.0f));
}

TEST_CASE("TF32 is asked for where the context says so, and for fp32 alone") {
    CudaContext exact(0), rounded(0);
    rounded.cached<ProductSettings>().tf32 = true;
    for (CudaContext* ctx : {&exact, &rounded}) {
        const OnDevice x(*ctx, std::vector<float>(16, 1.0f + 0x1p-20f));
        const OnDevice c(*ctx, std::vector<float>(16, 0.0f));
        multiply(*ctx, product_of(x, c, 4));
        const float expected = ctx == &rounded ? 4.0f : 4.0f * (1.0f + 0x1p-19f);
        CHECK(c.values()[0] == doctest::Approx(expected).epsilon(1e-9));
    }
}
