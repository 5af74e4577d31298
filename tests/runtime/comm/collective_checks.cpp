// SPDX-License-Identifier: Apache-2.0
#include "tests/runtime/comm/collective_checks.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>
#include <vector>

namespace lockstep::tests {

namespace {

using comm::Communicator;
using comm::ReduceOp;

template <class T>
double number(T value) {
    return static_cast<double>(value);
}
double number(bf16 value) { return static_cast<double>(static_cast<float>(value)); }
double number(std::byte value) { return static_cast<double>(value); }

template <class T>
T element(int value) {
    return static_cast<T>(value);
}
template <>
bf16 element<bf16>(int value) {
    return bf16(static_cast<float>(value));
}

// Returns the value of rank r at i. It is not monotonous in r, so that min and max differ from
// first and last.
int input(int rank, std::size_t i) { return (rank * 5 + static_cast<int>(i % 11)) % 7 + 1; }

template <class T>
std::vector<T> inputs(int rank, std::size_t count, std::size_t first = 0) {
    std::vector<T> values(count);
    for (std::size_t i = 0; i < count; ++i) values[i] = element<T>(input(rank, first + i));
    return values;
}

int reduced(ReduceOp reduction, int size, std::size_t i) {
    int result = input(0, i);
    for (int r = 1; r < size; ++r) {
        const int value = input(r, i);
        result = reduction == ReduceOp::sum   ? result + value
                 : reduction == ReduceOp::min ? std::min(result, value)
                                              : std::max(result, value);
    }
    return result;
}

template <class T>
void expect(const std::string& what, std::size_t i, T actual, int expected) {
    if (number(actual) == expected) return;
    throw std::runtime_error(what + "[" + std::to_string(i) + "] is " +
                             std::to_string(number(actual)) + ", not " + std::to_string(expected));
}

template <class T>
void check_reductions(Communicator& ranks, std::size_t count, ReduceOp reduction) {
    const auto part = count;
    const auto size = static_cast<std::size_t>(ranks.size());
    const auto rank = static_cast<std::size_t>(ranks.rank());
    auto reduce = inputs<T>(ranks.rank(), count);
    auto scatter = inputs<T>(ranks.rank(), part * size);
    ranks.all_reduce(view_of(reduce), reduction, "check all_reduce");
    ranks.reduce_scatter(view_of(scatter), reduction, "check reduce_scatter");
    ranks.finish();
    const std::string suffix =
        std::string(" ") + name(reduction) + " of " + std::to_string(8 * sizeof(T)) + " bits";
    for (std::size_t i = 0; i < count; ++i) {
        expect("all_reduce" + suffix, i, reduce[i], reduced(reduction, ranks.size(), i));
    }
    for (std::size_t i = rank * part; i < (rank + 1) * part; ++i) {
        expect("reduce_scatter" + suffix, i, scatter[i], reduced(reduction, ranks.size(), i));
    }
}

template <class T>
void check_movement(Communicator& ranks, std::size_t count) {
    const int size = ranks.size();
    const int rank = ranks.rank();
    auto own = inputs<T>(rank, count);
    std::vector<T> gathered(count * static_cast<std::size_t>(size));
    auto spread = inputs<T>(rank, count);
    std::vector<T> received(count);
    std::vector<T> in_place(gathered.size());
    const auto own_part = view_of(in_place).subview(static_cast<std::size_t>(rank) * count, count);
    std::copy(own.begin(), own.end(), own_part.begin());
    ranks.all_gather(view_of(own), view_of(gathered), "check all_gather");
    ranks.all_gather(own_part, view_of(in_place), "check all_gather in place");
    ranks.broadcast(view_of(spread), size - 1, "check broadcast");
    // The calls form a chain, since send may wait for its recv: rank r passes on the data of rank r
    // - 1.
    if (rank > 0) ranks.recv(view_of(received), rank - 1, "check recv");
    if (rank + 1 < size) ranks.send(view_of(own), rank + 1, "check send");
    std::vector<T> around(count);
    const int before = (rank + size - 1) % size;
    if (size > 1)
        ranks.exchange(comm::Message{view_of(own), (rank + 1) % size},
                       comm::Message{view_of(around), before}, "check exchange");
    ranks.barrier("check barrier");
    ranks.finish();
    for (int r = 0; r < size; ++r) {
        for (std::size_t i = 0; i < count; ++i) {
            const std::size_t at = static_cast<std::size_t>(r) * count + i;
            expect("all_gather", at, gathered[at], input(r, i));
            expect("all_gather in place", at, in_place[at], input(r, i));
        }
    }
    for (std::size_t i = 0; i < count; ++i) {
        expect("broadcast", i, spread[i], input(size - 1, i));
        if (rank > 0) expect("recv", i, received[i], input(rank - 1, i));
        if (size > 1) expect("exchange", i, around[i], input(before, i));
    }
}

template <class T>
void check_type(Communicator& ranks, std::size_t count) {
    for (const auto reduction : {ReduceOp::sum, ReduceOp::min, ReduceOp::max}) {
        check_reductions<T>(ranks, count, reduction);
    }
    check_movement<T>(ranks, count);
}

}  // namespace

void check_collectives(Communicator& ranks, std::size_t count) {
    check_type<float>(ranks, count);
    check_type<double>(ranks, count);
    check_type<bf16>(ranks, count);
    check_type<std::uint64_t>(ranks, count);
    check_movement<std::byte>(ranks, count);
}

namespace {

// Returns a value of rank `rank` whose sums depend on the order.
float inexact(int rank, std::size_t i) {
    return 1.0F / static_cast<float>(3 + (i * 7 + static_cast<std::size_t>(rank) * 13) % 89);
}

// Returns such a value for sums of bf16. The sums of every second element tell how often they were
// rounded. Of the other elements, one rank of three or more has a large value and another one its
// negative. Numbers of fp32 are 4 apart there, so that the sum of all ranks keeps only the small
// values that are added after both.
bf16 inexact_bf16(int rank, int size, std::size_t i) {
    constexpr float large = 3 << 24;
    const std::size_t pair = i / 2, ranks = static_cast<std::size_t>(size);
    if (i % 2 == 0 || size < 3) return bf16(inexact(rank, i));
    const std::size_t plus = pair % ranks, own = static_cast<std::size_t>(rank);
    const std::size_t minus = (plus + 1 + pair / ranks % (ranks - 1)) % ranks;
    return bf16(own == plus ? large : own == minus ? -large : inexact(rank, i));
}

}  // namespace

void check_ring_order(Communicator& ranks, std::size_t count) {
    const int size = ranks.size(), own = ranks.rank();
    std::vector<float> values(count * static_cast<std::size_t>(size));
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = inexact(own, i);
    ranks.finish(ranks.reduce_scatter(view_of(values), ReduceOp::sum, "ring"));
    const std::size_t first = count * static_cast<std::size_t>(own);
    for (std::size_t i = first; i < first + count; ++i) {
        float sum = inexact((own + 1) % size, i);
        for (int step = 2; step <= size; ++step) sum = inexact((own + step) % size, i) + sum;
        if (values[i] != sum)
            throw std::runtime_error("reduce_scatter has another order at " + std::to_string(i));
    }
}

void check_owner_sums(Communicator& ranks, std::size_t count) {
    const int size = ranks.size(), own = ranks.rank();
    std::vector<bf16> all(count), parts(count * static_cast<std::size_t>(size));
    for (std::size_t i = 0; i < all.size(); ++i) all[i] = inexact_bf16(own, size, i);
    for (std::size_t i = 0; i < parts.size(); ++i) parts[i] = inexact_bf16(own, size, i);
    ranks.all_reduce(view_of(all), ReduceOp::sum, "owners");
    ranks.finish(ranks.reduce_scatter(view_of(parts), ReduceOp::sum, "owners"));
    const auto check = [&](const char* what, bf16 actual, std::size_t i) {
        float sum = static_cast<float>(inexact_bf16(0, size, i));
        for (int rank = 1; rank < size; ++rank)
            sum += static_cast<float>(inexact_bf16(rank, size, i));
        if (actual.bits != bf16(sum).bits)
            throw std::runtime_error(std::string(what) + " of bf16 was rounded otherwise at " +
                                     std::to_string(i));
    };
    for (std::size_t i = 0; i < count; ++i) check("all_reduce", all[i], i);
    const std::size_t first = count * static_cast<std::size_t>(own);
    for (std::size_t i = first; i < first + count; ++i) check("reduce_scatter", parts[i], i);
}

void check_split(Communicator& ranks, std::size_t count) {
    const auto part = ranks.split(ranks.rank() % 2);
    const int expected_size = (ranks.size() + 1 - ranks.rank() % 2) / 2;
    if (part->size() != expected_size || part->rank() != ranks.rank() / 2) {
        throw std::runtime_error("split gave rank " + std::to_string(part->rank()) + " of " +
                                 std::to_string(part->size()));
    }
    check_collectives(*part, count);
    ranks.barrier("after split");
    ranks.finish();
}

}  // namespace lockstep::tests
