// SPDX-License-Identifier: Apache-2.0
#include "runtime/kernels/head_norm.hpp"

#include <doctest/doctest.h>

#include "runtime/kernels/norm.hpp"
#include "tests/support/close.hpp"
#include "tests/support/numbers.hpp"

using namespace lockstep;
using namespace lockstep::tests;
using kernels::CpuContext;
using kernels::NormKind;

namespace {

constexpr float head_epsilon = 1e-6f;

// Heads [rows, heads * head_dim] that are columns of wider rows, as one product for q, k and v
// makes them.
template <class T>
struct HeadCase {
    HeadCase(std::int64_t r, int h, int d)
        : rows(r),
          heads(h),
          head_dim(d),
          x(random_numbers<T>(r * stride(), 1, 2)),
          dy(random_numbers<T>(r * stride(), 2)),
          gamma(random_numbers<T>(d, 3)),
          rstd(static_cast<std::size_t>(r * h)),
          dgamma(static_cast<std::size_t>(d), 1.0f) {}

    std::int64_t stride() const { return heads * head_dim + 5; }
    HostMatrix<T> part(std::vector<T>& of) const {
        return {of.data() + 3, rows, std::int64_t{heads} * head_dim, stride()};
    }
    void forward(CpuContext& ctx, std::vector<T>& y) {
        kernels::head_norm_forward<T>(ctx, {.epsilon = head_epsilon,
                                            .head_dim = head_dim,
                                            .x = part(x),
                                            .gamma = const_view_of(gamma),
                                            .y = part(y),
                                            .rstd = view_of(rstd)});
    }
    void backward(CpuContext& ctx, std::vector<T>& dx) {
        kernels::head_norm_backward<T>(ctx, {.head_dim = head_dim,
                                             .dy = part(dy),
                                             .x = part(x),
                                             .rstd = const_view_of(rstd),
                                             .gamma = const_view_of(gamma),
                                             .dx = part(dx),
                                             .dgamma = view_of(dgamma),
                                             .into = kernels::Into::add});
    }

    std::int64_t rows;
    int heads, head_dim;
    std::vector<T> x, dy, gamma;
    std::vector<float> rstd, dgamma;
};

// Returns the heads as rows of their own.
template <class T>
std::vector<T> heads_of(const HeadCase<T>& c, const std::vector<T>& from) {
    std::vector<T> rows;
    for (std::int64_t i = 0; i < c.rows; ++i) {
        const auto first = from.begin() + 3 + i * c.stride();
        rows.insert(rows.end(), first, first + c.heads * c.head_dim);
    }
    return rows;
}

}  // namespace

TEST_CASE_TEMPLATE("a norm of heads is the rms norm of each head", T, float, bf16) {
    for (const int threads : {1, 2, 3})
        for (const int head_dim : {1, 21, 64, 128, 256})
            for (const int heads : {1, 3}) {
                CAPTURE(head_dim);
                CpuContext ctx(threads);
                HeadCase<T> c(37, heads, head_dim);
                std::vector<T> y(c.x.size()), dx(c.x.size());
                c.forward(ctx, y);
                c.backward(ctx, dx);

                const std::int64_t count = 37 * heads;
                auto x = heads_of(c, c.x), dy = heads_of(c, c.dy);
                std::vector<T> rows_y(x.size()), rows_dx(x.size());
                std::vector<float> rstd(c.rstd.size()), dgamma(c.gamma.size(), 1.0f);
                kernels::norm_forward<T>(ctx, {.kind = NormKind::rms,
                                               .epsilon = head_epsilon,
                                               .x = matrix_of(x, count, head_dim),
                                               .gamma = const_view_of(c.gamma),
                                               .y = matrix_of(rows_y, count, head_dim),
                                               .rstd = view_of(rstd)});
                kernels::norm_backward<T>(ctx, {.kind = NormKind::rms,
                                                .dy = matrix_of(dy, count, head_dim),
                                                .sum = matrix_of(x, count, head_dim),
                                                .rstd = const_view_of(rstd),
                                                .gamma = const_view_of(c.gamma),
                                                .dx = matrix_of(rows_dx, count, head_dim),
                                                .dgamma = view_of(dgamma),
                                                .into = kernels::Into::add});
                CHECK(to_doubles(heads_of(c, y)) == to_doubles(rows_y));
                CHECK(to_doubles(heads_of(c, dx)) == to_doubles(rows_dx));
                CHECK(c.rstd == rstd);
                for (std::size_t j = 0; j < dgamma.size(); ++j)
                    CHECK(close(double{c.dgamma[j]}, double{dgamma[j]}, Dtype::fp32, count, 4));
                CHECK(to_double(y[0]) == 0);  // columns before the heads stay
                CHECK(to_double(y[static_cast<std::size_t>(c.stride() - 1)]) == 0);
            }
}

TEST_CASE_TEMPLATE("a norm of heads works in place, with the same bits for any number of threads",
                   T, float, bf16) {
    CpuContext one(1);
    HeadCase<T> a(300, 4, 33);
    std::vector<T> y(a.x.size()), dx(a.x.size());
    a.forward(one, y);
    a.backward(one, dx);
    for (const int threads : {1, 2, 3, 5}) {
        CpuContext ctx(threads);
        HeadCase<T> b(300, 4, 33);
        b.rstd = a.rstd;
        b.backward(ctx, b.dy);
        b.forward(ctx, b.x);
        CHECK(to_doubles(heads_of(b, b.x)) == to_doubles(heads_of(a, y)));
        CHECK(to_doubles(heads_of(b, b.dy)) == to_doubles(heads_of(a, dx)));
        CHECK(b.dgamma == a.dgamma);
    }
}
