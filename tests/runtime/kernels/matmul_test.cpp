// SPDX-License-Identifier: Apache-2.0
#include "runtime/kernels/cpu/matmul/matmul.hpp"

#include <doctest/doctest.h>
#include <oneapi/dnnl/dnnl.h>

#include <new>

#include "runtime/core/error.hpp"

using namespace lockstep;

TEST_CASE("a product that lacked memory says so, and another failure names the product") {
    CHECK_THROWS_AS(kernels::cpu::product_failed("a product", dnnl_out_of_memory), std::bad_alloc);
    CHECK_THROWS_WITH_AS(kernels::cpu::product_failed("a product", dnnl_runtime_error),
                         "oneDNN failed in a product (status 5)", Error);
}
