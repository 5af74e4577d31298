// SPDX-License-Identifier: Apache-2.0
// Checks that each contract refuses each operand that does not fit, in the memory of every device.
// No element is read, so the views need no memory.
#include <doctest/doctest.h>

#include "runtime/kernels/activation_checks.hpp"
#include "runtime/kernels/attention_checks.hpp"
#include "runtime/kernels/embedding_checks.hpp"
#include "runtime/kernels/head_norm_checks.hpp"
#include "runtime/kernels/norm_checks.hpp"
#include "runtime/kernels/optimizer_checks.hpp"
#include "runtime/kernels/rotary_checks.hpp"

using namespace lockstep;
using namespace lockstep::kernels;

namespace {

template <class T, class Space>
View<T, Space> view(std::size_t size) {
    static std::remove_const_t<T> element{};
    return {&element, size};
}
template <class T, class Space>
MatrixView<T, Space> matrix(std::int64_t rows, std::int64_t cols) {
    return {view<T, Space>(1).data(), rows, cols};
}

// Each change makes operands that fit into operands that do not.
template <class Operands, class... Change>
void check_refuses(const Operands& fit, const Change&... changes) {
    CHECK_NOTHROW(check(fit));
    int number = 0;
    const auto refuses = [&](const auto& change) {
        CAPTURE(number++);
        Operands wrong = fit;
        change(wrong);
        CHECK_THROWS_AS(check(wrong), Error);
    };
    (refuses(changes), ...);
}

}  // namespace

TEST_CASE_TEMPLATE("the norms refuse operands that do not fit", Space, HostSpace, CudaSpace) {
    const auto m = matrix<float, Space>(2, 3), other = matrix<float, Space>(2, 4);
    const auto d = view<float, Space>(3), rows = view<float, Space>(2);
    check_refuses(
        NormForward<float, Space>{.x = m,
                                  .branch = m,
                                  .gamma = d,
                                  .beta = d,
                                  .sum = m,
                                  .y = m,
                                  .mean = rows,
                                  .rstd = rows},
        [&](auto& o) { o.y = other; }, [](auto& o) { o.gamma = {}; }, [](auto& o) { o.beta = {}; },
        [](auto& o) { o.mean = {}; }, [](auto& o) { o.rstd = {}; },
        [&](auto& o) { o.branch = other; }, [](auto& o) { o.sum = {}; });
    check_refuses(
        NormBackward<float, Space>{.dy = m,
                                   .d_sum = m,
                                   .sum = m,
                                   .mean = rows,
                                   .rstd = rows,
                                   .gamma = d,
                                   .dx = m,
                                   .d_branch = m,
                                   .dgamma = d,
                                   .dbeta = d,
                                   .dbias = d,
                                   .into = Into::add},
        [&](auto& o) { o.dy = other; }, [&](auto& o) { o.d_sum = other; },
        [](auto& o) { o.gamma = {}; }, [&](auto& o) { o.dx = other; },
        [&](auto& o) { o.d_branch = other; }, [](auto& o) { o.dgamma = {}; },
        [](auto& o) { o.dbeta = {}; }, [&](auto& o) { o.dbias = rows; });
    check_refuses(
        NormForward<float, Space>{.kind = NormKind::rms, .x = m, .gamma = d, .y = m, .rstd = rows},
        [&](auto& o) { o.beta = d; }, [&](auto& o) { o.mean = rows; }, [](auto& o) { o.rstd = {}; },
        [](auto& o) { o.kind = NormKind::layer; });
    check_refuses(
        NormBackward<float, Space>{.kind = NormKind::rms,
                                   .dy = m,
                                   .sum = m,
                                   .rstd = rows,
                                   .gamma = d,
                                   .dx = m,
                                   .dgamma = d,
                                   .into = Into::add},
        [&](auto& o) { o.dbeta = d; }, [](auto& o) { o.kind = NormKind::layer; },
        [](auto& o) { o.rstd = {}; });
}

TEST_CASE_TEMPLATE("operations on heads refuse operands that do not fit", Space, HostSpace,
                   CudaSpace) {
    const auto m = matrix<float, Space>(2, 6), other = matrix<float, Space>(2, 4);
    const auto d = view<float, Space>(3), rstd = view<float, Space>(4);
    const auto five = [](auto& o) { o.head_dim = 5; };
    check_refuses(
        HeadNormForward<float, Space>{
            .epsilon = 1, .head_dim = 3, .x = m, .gamma = d, .y = m, .rstd = rstd},
        five, [](auto& o) { o.head_dim = 0; }, [&](auto& o) { o.y = other; },
        [](auto& o) { o.gamma = {}; }, [&](auto& o) { o.rstd = d; });
    check_refuses(
        HeadNormBackward<float, Space>{.head_dim = 3,
                                       .dy = m,
                                       .x = m,
                                       .rstd = rstd,
                                       .gamma = d,
                                       .dx = m,
                                       .dgamma = d,
                                       .into = Into::add},
        five, [&](auto& o) { o.dy = other; }, [&](auto& o) { o.dx = other; },
        [&](auto& o) { o.rstd = d; }, [](auto& o) { o.gamma = {}; },
        [&](auto& o) { o.dgamma = rstd; });
    check_refuses(
        Rotary<float, Space>{.positions = view<const std::int32_t, Space>(2),
                             .frequencies = view<const float, Space>(1),
                             .head_dim = 3,
                             .x = m},
        five, [](auto& o) { o.head_dim = 0; },
        [](auto& o) { o.positions = view<const std::int32_t, Space>(1); },
        [](auto& o) { o.frequencies = view<const float, Space>(2); });
}

TEST_CASE_TEMPLATE("attention refuses operands that do not fit", Space, HostSpace, CudaSpace) {
    const AttentionShape shape{2, 4, Mask::none};
    const auto offsets = view<const std::int32_t, Space>(3);
    const Sequences<Space> sequences{offsets, offsets, view<const std::uint32_t, Space>(2)};
    const auto q = matrix<float, Space>(5, 8), k = matrix<float, Space>(6, 8);
    const auto narrow = matrix<float, Space>(5, 4);
    const auto lse = view<float, Space>(10);
    const auto no_rows = [](auto& o) { o.sequences.rows = {}; };
    const auto no_keys = [](auto& o) { o.sequences.k_offsets = {}; };
    check_refuses(
        AttentionForward<float, Space>{.shape = shape,
                                       .sequences = sequences,
                                       .q = q,
                                       .k = k,
                                       .v = k,
                                       .out = q,
                                       .log_sum_exp = lse},
        [&](auto& o) { o.q = narrow; }, [&](auto& o) { o.k = narrow; }, [&](auto& o) { o.v = q; },
        [&](auto& o) { o.out = k; }, [](auto& o) { o.log_sum_exp = {}; }, no_rows, no_keys);
    check_refuses(
        AttentionBackward<float, Space>{.shape = shape,
                                        .sequences = sequences,
                                        .q = q,
                                        .k = k,
                                        .v = k,
                                        .out = q,
                                        .log_sum_exp = lse,
                                        .d_out = q,
                                        .dq = q,
                                        .dk = k,
                                        .dv = k},
        [&](auto& o) { o.out = k; }, [&](auto& o) { o.d_out = k; }, [&](auto& o) { o.dq = k; },
        [&](auto& o) { o.dk = q; }, [&](auto& o) { o.dv = q; }, [&](auto& o) { o.v = q; },
        [&](auto& o) { o.dq = narrow; }, [](auto& o) { o.log_sum_exp = {}; }, no_rows, no_keys);
    const auto one = matrix<float, Space>(2, 8);
    check_refuses(
        AttentionDecode<float, Space>{.shape = shape,
                                      .begin = view<const std::int64_t, Space>(2),
                                      .length = view<const std::int32_t, Space>(2),
                                      .q = one,
                                      .k_cache = k,
                                      .v_cache = k,
                                      .out = one},
        [](auto& o) { o.length = {}; }, [](auto& o) { o.begin = {}; }, [&](auto& o) { o.q = k; },
        [&](auto& o) { o.v_cache = q; }, [&](auto& o) { o.out = k; });
}

TEST_CASE_TEMPLATE("attention refuses heads and windows that do not fit", Space, HostSpace,
                   CudaSpace) {
    const auto q = matrix<float, Space>(2, 24), k = matrix<float, Space>(6, 8);
    check_refuses(
        AttentionDecode<float, Space>{.shape = {6, 4, Mask::causal, 2, 3},
                                      .begin = view<const std::int64_t, Space>(2),
                                      .length = view<const std::int32_t, Space>(2),
                                      .q = q,
                                      .k_cache = k,
                                      .v_cache = k,
                                      .out = q},
        [](auto& o) { o.shape.kv_heads = 0; }, [](auto& o) { o.shape.kv_heads = 4; },
        [](auto& o) { o.shape.kv_heads = 12; }, [](auto& o) { o.shape.kv_heads = -2; },
        [](auto& o) { o.shape.heads = 0; }, [](auto& o) { o.shape.window = -1; },
        [](auto& o) { o.shape.mask = Mask::none; });
}

TEST_CASE_TEMPLATE("activations and embeddings refuse operands that do not fit", Space, HostSpace,
                   CudaSpace) {
    const auto m = matrix<float, Space>(2, 3), other = matrix<float, Space>(2, 4);
    const auto db = view<float, Space>(3);
    const auto db_of_other = [](auto& o) { o.db = view<float, Space>(4); };
    check_refuses(
        ActivationBackward<float, Space>{
            .f = Activation::relu, .x = m, .dy = m, .dx = m, .db = db, .into = Into::add},
        [&](auto& o) { o.dy = other; }, [&](auto& o) { o.dx = other; }, db_of_other);
    check_refuses(
        ReluBackward<float, Space>{.y = m, .dy = m, .dx = m, .db = db, .into = Into::add},
        [&](auto& o) { o.dy = other; }, [&](auto& o) { o.dx = other; }, db_of_other);
    check_refuses(
        GatedActivationBackward<float, Space>{.f = Activation::silu,
                                              .x = matrix<float, Space>(2, 6),
                                              .dy = m,
                                              .dx = matrix<float, Space>(2, 6)},
        [&](auto& o) { o.dy = other; }, [&](auto& o) { o.dx = m; });
    const auto ids = view<const std::int32_t, Space>(2), one = view<const std::int32_t, Space>(1);
    const auto table = matrix<float, Space>(7, 3);
    check_refuses(
        EmbeddingForward<float, Space>{.tokens = ids,
                                       .positions = ids,
                                       .real = one,
                                       .scale = 1,
                                       .table = table,
                                       .position_table = table,
                                       .y = m},
        [&](auto& o) { o.tokens = one; }, [&](auto& o) { o.positions = one; },
        [](auto& o) { o.real = {}; }, [&](auto& o) { o.table = other; },
        [&](auto& o) { o.position_table = other; });
    check_refuses(
        EmbeddingBackward<float, Space>{
            .tokens = ids, .real = one, .scale = 1, .dy = m, .d_table = table, .into = Into::add},
        [&](auto& o) { o.tokens = one; }, [](auto& o) { o.real = {}; },
        [&](auto& o) { o.d_table = other; });
}

TEST_CASE_TEMPLATE("optimizers refuse operands that do not fit", Space, HostSpace, CudaSpace) {
    const StepState state;
    const auto n = view<float, Space>(6), other = view<float, Space>(5);
    const auto lines = view<const std::uint32_t, Space>(1);
    const auto too_many = view<const std::uint32_t, Space>(2);
    const auto no_weights = [](auto& o) { o.master = {}, o.compute = {}; };
    check_refuses(
        Sgd<float, Space>{.options = {0.9f, 0, SgdOptions::Kind::plain},
                          .state = &state,
                          .gradient = n,
                          .master = n,
                          .momentum_buffer = n,
                          .compute = n,
                          .decays = lines},
        no_weights, [&](auto& o) { o.master = other; }, [&](auto& o) { o.compute = other; },
        [](auto& o) { o.momentum_buffer = {}; }, [](auto& o) { o.options.momentum = 0; },
        [&](auto& o) { o.decays = too_many; });
    check_refuses(
        Adam<float, Space>{.options = {},
                           .state = &state,
                           .gradient = n,
                           .master = n,
                           .first_moment = n,
                           .second_moment = n,
                           .largest = n,
                           .compute = n,
                           .decays = lines},
        no_weights, [&](auto& o) { o.master = other; }, [&](auto& o) { o.compute = other; },
        [&](auto& o) { o.first_moment = other; }, [&](auto& o) { o.second_moment = other; },
        [&](auto& o) { o.largest = other; }, [&](auto& o) { o.decays = too_many; });
    check_refuses(
        Lion<float, Space>{.options = {},
                           .state = &state,
                           .gradient = n,
                           .master = n,
                           .moment = n,
                           .compute = n,
                           .decays = lines},
        no_weights, [&](auto& o) { o.master = other; }, [&](auto& o) { o.compute = other; },
        [&](auto& o) { o.moment = other; }, [&](auto& o) { o.decays = too_many; });
    const auto m = matrix<float, Space>(2, 3), turned = matrix<float, Space>(3, 2);
    const MatrixView<float, Space> strided{m.data, 2, 3, 4};
    check_refuses(
        Adafactor<float, Space>{.options = {},
                                .state = &state,
                                .gradient = m,
                                .master = m,
                                .row = view<float, Space>(2),
                                .column = view<float, Space>(3),
                                .first_moment = n,
                                .scratch = n,
                                .compute = n},
        no_weights, [&](auto& o) { o.master = turned; }, [&](auto& o) { o.master = strided; },
        [&](auto& o) { o.gradient = strided; }, [&](auto& o) { o.compute = other; },
        [&](auto& o) { o.first_moment = other; }, [&](auto& o) { o.scratch = other; },
        [](auto& o) { o.row = {}; }, [](auto& o) { o.column = {}; },
        [&](auto& o) { o.full = other; });
}

TEST_CASE_TEMPLATE("only GPUs update a copy of the weights without a master", Space, HostSpace,
                   CudaSpace) {
    const StepState state;
    const auto n = view<float, Space>(6);
    const Sgd<float, Space> copy_alone{
        .options = {0, 0, SgdOptions::Kind::plain}, .state = &state, .gradient = n, .compute = n};
    if constexpr (std::is_same_v<Space, HostSpace>)
        CHECK_THROWS_AS(check(copy_alone), Error);
    else
        CHECK_NOTHROW(check(copy_alone));
}
