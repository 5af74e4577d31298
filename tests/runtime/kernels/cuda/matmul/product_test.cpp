// SPDX-License-Identifier: Apache-2.0
#include "runtime/kernels/cuda/matmul/product.hpp"

#include <doctest/doctest.h>

#include <cmath>

#include "runtime/core/bf16.hpp"
#include "runtime/core/fp16.hpp"
#include "tests/support/on_device.hpp"

using namespace lockstep;
using namespace lockstep::tests;
using namespace lockstep::kernels::cuda;
using device::CudaContext;

namespace {

constexpr std::int64_t m = 24, n = 40, k = 32;

// A product [m, k] by [k, n], with all operands that an epilogue may need.
template <class T>
struct Example {
    explicit Example(CudaContext& ctx)
        : a_there(ctx, a),
          b_there(ctx, b),
          c(ctx, unwritten<T>(m * n)),
          bias_there(ctx, bias),
          before(ctx, unwritten<T>(m * n)),
          mask(ctx, bits) {}

    Product<T, T> product(Epilogue epilogue) const {
        Product<T, T> result{a_there.matrix(m, k), Transpose::no, b_there.matrix(k, n),
                             Transpose::no, c.matrix(m, n)};
        result.epilogue = epilogue;
        return result;
    }
    CudaMatrix<std::uint8_t> mask_matrix() const {
        return {mask.data(), m, relu_mask_stride(n), relu_mask_stride(n)};
    }
    double sum(std::int64_t i, std::int64_t j) const {
        double total = 0;
        for (std::int64_t l = 0; l < k; ++l)
            total += to_double(a[static_cast<std::size_t>(i * k + l)]) *
                     to_double(b[static_cast<std::size_t>(l * n + j)]);
        return total;
    }
    double bias_at(std::int64_t j) const { return to_double(bias[static_cast<std::size_t>(j)]); }

    std::vector<T> a = random_numbers<T>(m * k, 1), b = random_numbers<T>(k * n, 2),
                   bias = random_numbers<T>(n, 3);
    std::vector<std::uint8_t> bits =
        std::vector<std::uint8_t>(static_cast<std::size_t>(m * relu_mask_stride(n)), 0xFF);
    OnDevice<T> a_there, b_there, c, bias_there, before;
    OnDevice<std::uint8_t> mask;
};

template <class T, class Expected>
void check_all(const OnDevice<T>& c, const Expected& expected) {
    const double step = std::is_same_v<T, bf16> ? 0.02 : 0.006;
    const auto values = c.values();
    for (std::int64_t i = 0; i < m; ++i)
        for (std::int64_t j = 0; j < n; ++j)
            REQUIRE(std::abs(to_double(values[static_cast<std::size_t>(i * n + j)]) -
                             expected(i, j)) <= step * (2 + std::abs(expected(i, j))));
}

// Some versions of cuBLASLt lack an epilogue in fp32; callers ask beforehand.
template <class T>
bool is_missing(CudaContext& ctx, const Product<T, T>& product) {
    return std::is_same_v<T, float> && !can_multiply(ctx, product);
}

double gelu(double x) {
    return 0.5 * x * (1 + std::tanh(0.7978845608 * (x + 0.044715 * x * x * x)));
}
double gelu_slope(double x) { return (gelu(x + 1e-5) - gelu(x - 1e-5)) / 2e-5; }

bool has_bit(const std::vector<std::uint8_t>& mask, std::int64_t i, std::int64_t j) {
    return (mask[static_cast<std::size_t>(i * relu_mask_stride(n) + j / 8)] >> (j % 8) & 1) != 0;
}

}  // namespace

TEST_CASE_TEMPLATE("a product's factors and what is there are scaled", T, float, bf16, fp16) {
    CudaContext ctx(0);
    const Example<T> example(ctx);
    auto product = example.product(Epilogue::none);
    product.alpha = 2;
    multiply(ctx, product);
    check_all(example.c, [&](auto i, auto j) { return 2 * example.sum(i, j); });
    product.beta = 0.5;
    multiply(ctx, product);
    check_all(example.c, [&](auto i, auto j) { return 3 * example.sum(i, j); });
}

TEST_CASE_TEMPLATE("gelu's epilogue keeps what it was applied to for its derivative", T, float,
                   bf16, fp16) {
    CudaContext ctx(0);
    const Example<T> example(ctx);
    auto product = example.product(Epilogue::gelu_tanh);
    product.bias = example.bias_there.view();
    const auto before = [&](auto i, auto j) { return example.sum(i, j) + example.bias_at(j); };
    multiply(ctx, product);
    check_all(example.c, [&](auto i, auto j) { return gelu(before(i, j)); });
    product.before = example.before.matrix(m, n);
    if (is_missing(ctx, product)) return;
    multiply(ctx, product);
    check_all(example.c, [&](auto i, auto j) { return gelu(before(i, j)); });
    check_all(example.before, before);

    auto backward = example.product(Epilogue::gelu_tanh_backward);
    backward.before = example.before.matrix(m, n);
    if (is_missing(ctx, backward)) return;
    multiply(ctx, backward);
    check_all(example.c,
              [&](auto i, auto j) { return example.sum(i, j) * gelu_slope(before(i, j)); });
}

TEST_CASE_TEMPLATE("relu's epilogue keeps which values it let through for its derivative", T, float,
                   bf16, fp16) {
    CudaContext ctx(0);
    const Example<T> example(ctx);
    auto product = example.product(Epilogue::relu);
    product.bias = example.bias_there.view();
    const auto relu = [&](auto i, auto j) {
        return std::max(0.0, example.sum(i, j) + example.bias_at(j));
    };
    multiply(ctx, product);
    check_all(example.c, relu);
    product.mask = example.mask_matrix();
    if (is_missing(ctx, product)) return;
    multiply(ctx, product);
    check_all(example.c, relu);

    auto backward = example.product(Epilogue::relu_backward);
    backward.mask = example.mask_matrix();
    if (is_missing(ctx, backward)) return;
    const auto y = example.c.values();
    multiply(ctx, backward);
    const auto mask = example.mask.values();
    check_all(example.c, [&](auto i, auto j) {
        const bool through = to_double(y[static_cast<std::size_t>(i * n + j)]) > 0;
        REQUIRE(has_bit(mask, i, j) == through);
        return through ? example.sum(i, j) : 0;
    });
}

TEST_CASE("the parts of a long sum are added in fp32") {
    // The sums of its halves are 257 and -256; the first would be 256 in bf16.
    constexpr std::int64_t length = 1024;
    std::vector<bf16> ones(8 * length, bf16(1.0f)), terms(8 * length, bf16(0.0f));
    for (std::int64_t l = 0; l < length; ++l)
        for (std::int64_t j = 0; j < 8; ++j)
            if (l < 257 || l >= length - 256)
                terms[static_cast<std::size_t>(l * 8 + j)] = bf16(l < 257 ? 1.0f : -1.0f);
    CudaContext ctx(0);
    const OnDevice a(ctx, ones), b(ctx, terms), c(ctx, unwritten<bf16>(64));
    multiply(ctx, Product<bf16, bf16>{a.matrix(8, length), Transpose::no, b.matrix(length, 8),
                                      Transpose::no, c.matrix(8, 8)});
    for (const bf16 value : c.values()) REQUIRE(to_double(value) == 1);
}

TEST_CASE("relu's epilogue does not hide a NaN") {
    CudaContext ctx(0);
    const Example<float> example(ctx);
    auto product = example.product(Epilogue::relu);
    const OnDevice broken(ctx, unwritten<float>(m * k));
    product.a = broken.matrix(m, k);
    multiply(ctx, product);
    CHECK(std::isnan(example.c.values()[0]));
}

TEST_CASE_TEMPLATE("sums over the rows of a transposed factor come with the product", T, float,
                   bf16, fp16) {
    CudaContext ctx(0);
    const OnDevice dy(ctx, numbers<T>({1, 2, 3, 4, 5, 6})), x(ctx, numbers<T>({1, 0, 0, 1}));
    const OnDevice dw(ctx, std::vector<float>(6, 1.0f)), sums(ctx, unwritten<float>(3));
    Product<T, float> product{
        dy.matrix(2, 3), Transpose::yes, x.matrix(2, 2), Transpose::no, dw.matrix(3, 2), 1, 1};
    product.row_sums = sums.view();
    if (!can_multiply(ctx, product)) return;  // some versions of cuBLASLt lack it for some types
    multiply(ctx, product);
    CHECK(dw.values() == std::vector<float>{2, 5, 3, 6, 4, 7});
    CHECK(sums.values() == std::vector<float>{5, 7, 9});
}

TEST_CASE("what cuBLASLt cannot compute is known beforehand and named") {
    CudaContext ctx(0);
    const Example<float> example(ctx);
    auto product = example.product(Epilogue::gelu_tanh);
    CHECK(can_multiply(ctx, product));
    const OnDevice crooked(ctx, unwritten<float>(m * (n + 3)));
    product.before = crooked.matrix(m, n, n + 3);  // rows must be multiples of 8 apart
    CHECK_FALSE(can_multiply(ctx, product));
    try {
        multiply(ctx, product);
        FAIL("computed");
    } catch (const Error& error) {
        CHECK(error.kind() == ErrorKind::cuda);
        CHECK(std::string(error.what()).find("[24, 32] and [32, 40]") != std::string::npos);
    }
}
