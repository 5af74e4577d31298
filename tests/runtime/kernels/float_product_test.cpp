// SPDX-License-Identifier: Apache-2.0
#include "runtime/kernels/cpu/avx2/float_product.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <utility>

#include "runtime/kernels/product_library.hpp"
#include "tests/support/close.hpp"
#include "tests/support/numbers.hpp"

using namespace lockstep;
using namespace lockstep::tests;
using namespace lockstep::kernels::cpu::avx2;
using device::CpuContext;
using kernels::Into;

namespace {

bool without_avx2() {
    if (has_instructions()) return false;
    MESSAGE("skipped: this processor has no AVX2");
    return true;
}

// A factor of random numbers, not aligned, with gaps between its lines.
class Numbers {
public:
    Numbers(Side side, std::int64_t inner, std::int64_t outer, std::uint64_t key)
        : side_(side),
          rows_(side == Side::plain ? inner : outer),
          cols_(side == Side::plain ? outer : inner),
          values_(random_numbers<float>(rows_ * (cols_ + gap) + 1, key)) {}

    FloatFactor factor() const { return {{values_.data() + 1, rows_, cols_, cols_ + gap}, side_}; }
    float& at(std::int64_t inner, std::int64_t outer) {
        const auto [row, col] =
            side_ == Side::plain ? std::pair(inner, outer) : std::pair(outer, inner);
        return values_[static_cast<std::size_t>(1 + row * (cols_ + gap) + col)];
    }

private:
    static constexpr std::int64_t gap = 3;
    Side side_;
    std::int64_t rows_, cols_;
    std::vector<float> values_;
};

struct Shape {
    std::int64_t rows, columns, inner;
};

// A result whose rows have gaps, all of it set to `before`, the gaps to NaN.
struct Result {
    static constexpr std::int64_t gap = 5;
    Result(const Shape& shape, float before)
        : values(static_cast<std::size_t>(shape.rows * (shape.columns + gap)), NAN),
          view(values.data(), shape.rows, shape.columns, shape.columns + gap) {
        for (std::int64_t i = 0; i < shape.rows; ++i)
            std::fill_n(view.data + i * view.stride, view.cols, before);
    }
    float at(std::int64_t i, std::int64_t j) const { return view.data[i * view.stride + j]; }

    std::vector<float> values;
    HostMatrix<float> view;
};

// Checks some elements of the product, and that the gaps are as they were.
void check_product(CpuContext& ctx, const Shape& shape, Side a_side, Side b_side, Into into,
                   HostView<const float> bias) {
    CAPTURE(shape.rows);
    CAPTURE(shape.columns);
    CAPTURE(shape.inner);
    Numbers a(a_side, shape.inner, shape.rows, 1), b(b_side, shape.inner, shape.columns, 2);
    Result c(shape, into == Into::add ? 0.5f : NAN);
    multiply(ctx, {a.factor(), b.factor(), bias.data(), into, c.view});
    const std::int64_t elements = shape.rows * shape.columns;
    const std::int64_t step = elements > 4000 ? 97 : 1;
    for (std::int64_t e = 0; e < elements; e += step) {
        const std::int64_t i = e / shape.columns, j = e % shape.columns;
        double expected = into == Into::add ? 0.5 : 0;
        if (!bias.empty()) expected += double{bias[static_cast<std::size_t>(j)]};
        for (std::int64_t k = 0; k < shape.inner; ++k)
            expected += double{a.at(k, i)} * double{b.at(k, j)};
        REQUIRE(close(double{c.at(i, j)}, expected, Dtype::fp32, shape.inner,
                      std::sqrt(static_cast<double>(shape.inner)) / 4));
    }
    for (std::int64_t i = 0; i < shape.rows; ++i)
        for (std::int64_t j = 0; j < Result::gap; ++j)
            REQUIRE(std::isnan(c.at(i, shape.columns + j)));
}

}  // namespace

TEST_CASE("products of floats are ours where AVX2 is oneDNN's best") {
    const std::string library = kernels::product_library();
    CHECK(usable() == (library.ends_with(" avx2") || library.ends_with(" avx2_vnni")));
}

TEST_CASE("a product of floats by hand") {
    if (without_avx2()) return;
    CpuContext ctx(1);
    const std::vector<float> a = {1, 2, 3, 4, 5, 6}, b = {1, -1, 2, 0, 0, 3}, bias = {10, 20};
    std::vector<float> c(4, 7.0f);
    const FloatFactor rows{{a.data(), 2, 3}, Side::transposed};
    const FloatFactor columns{{b.data(), 3, 2}, Side::plain};
    multiply(ctx, {rows, columns, bias.data(), Into::overwrite, {c.data(), 2, 2}});
    CHECK(c == std::vector<float>{15, 28, 24, 34});
    multiply(ctx, {rows, columns, nullptr, Into::add, {c.data(), 2, 2}});
    CHECK(c == std::vector<float>{20, 36, 38, 48});
}

TEST_CASE("products of floats of awkward sizes, with any sides and threads") {
    if (without_avx2()) return;
    // Parts of tiles, of blocks of rows and of inner elements; several chunks of inner elements and
    // of columns.
    const Shape shapes[] = {{1, 1, 1},      {4, 24, 4},     {5, 25, 3},       {3, 8, 9},
                            {97, 49, 257},  {193, 17, 513}, {130, 300, 1030}, {9, 520, 2100},
                            {7, 4200, 300}, {200, 96, 256}};
    const auto numbers = random_numbers<float>(4200, 3);
    for (const int threads : {1, 2, 7}) {
        CAPTURE(threads);
        CpuContext ctx(threads);
        for (const Shape& shape : shapes)
            for (const Side a : {Side::plain, Side::transposed})
                for (const Side b : {Side::plain, Side::transposed}) {
                    const HostView<const float> bias(numbers.data(),
                                                     static_cast<std::size_t>(shape.columns));
                    check_product(ctx, shape, a, b, Into::overwrite, bias);
                    check_product(ctx, shape, a, b, Into::add, bias);
                    check_product(ctx, shape, a, b, Into::add, {});
                }
    }
}

TEST_CASE("an element of a product of floats has the same bits in any company") {
    if (without_avx2()) return;
    // The chunks of the whole have fewer inner elements, and fewer columns, than those of parts.
    const Shape shape{101, 4200, 2100};
    Numbers a(Side::transposed, shape.inner, shape.rows, 1);
    Numbers b(Side::plain, shape.inner, shape.columns, 2);
    Result whole(shape, 0.5f);
    CpuContext one(1);
    multiply(one, {a.factor(), b.factor(), nullptr, Into::add, whole.view});
    for (const int threads : {1, 2, 3, 7}) {
        CAPTURE(threads);
        CpuContext ctx(threads);
        for (const auto& [row, rows, column, columns] :
             {std::array{0, 101, 0, 4200}, {5, 1, 3, 1}, {17, 70, 100, 30}, {100, 1, 0, 530}}) {
            Result c({rows, columns, shape.inner}, 0.5f);
            multiply(ctx, {a.factor().part(0, shape.inner, row, rows),
                           b.factor().part(0, shape.inner, column, columns), nullptr, Into::add,
                           c.view});
            for (std::int64_t i = 0; i < rows; ++i)
                REQUIRE(std::memcmp(c.view.data + i * c.view.stride,
                                    whole.view.data + (row + i) * whole.view.stride + column,
                                    static_cast<std::size_t>(columns) * sizeof(float)) == 0);
        }
    }
}

TEST_CASE("products of floats with few rows or inner elements are left to oneDNN") {
    const std::vector<float> values(std::size_t{128} * 128);
    std::vector<float> c(std::size_t{128} * 16);
    const auto suits_of = [&](std::int64_t rows, std::int64_t columns, std::int64_t inner) {
        return suits({{{values.data(), inner, rows}, Side::plain},
                      {{values.data(), inner, columns}, Side::plain},
                      nullptr,
                      Into::overwrite,
                      {c.data(), rows, columns}});
    };
    CHECK(suits_of(128, 16, 128));
    CHECK_FALSE(suits_of(127, 16, 128));
    CHECK_FALSE(suits_of(128, 15, 128));
    CHECK_FALSE(suits_of(128, 16, 127));
}

TEST_CASE("NaN and infinity stay in their row and column of a product of floats") {
    if (without_avx2()) return;
    const Shape shape{10, 30, 20};
    Numbers a(Side::transposed, shape.inner, shape.rows, 1),
        b(Side::transposed, shape.inner, shape.columns, 2);
    a.at(7, 9) = NAN;
    b.at(3, 29) = INFINITY;
    Result c(shape, 0);
    CpuContext ctx(1);
    multiply(ctx, {a.factor(), b.factor(), nullptr, Into::overwrite, c.view});
    for (std::int64_t i = 0; i < shape.rows; ++i)
        for (std::int64_t j = 0; j < shape.columns; ++j) {
            CHECK(std::isnan(c.at(i, j)) == (i == 9));
            if (i != 9) CHECK(std::isinf(c.at(i, j)) == (j == 29));
        }
}
