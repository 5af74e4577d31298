// SPDX-License-Identifier: Apache-2.0
#include "runtime/device/arena.hpp"

#include <doctest/doctest.h>

#include <cstdint>

#include "runtime/device/dry_context.hpp"

using namespace lockstep;
using HostArena = device::Arena<HostSpace>;

namespace {

std::uintptr_t address(HostView<float> view) {
    return reinterpret_cast<std::uintptr_t>(view.data());
}

constexpr std::size_t large = std::size_t{17} << 20;  // floats: more than the smallest chunk holds

}  // namespace

TEST_CASE("what an arena gives is aligned and does not overlap") {
    HostArena arena;
    const auto a = arena.take<float>(5), b = arena.take<float>(7);
    CHECK(address(a) % 64 == 0);
    CHECK(address(b) % 64 == 0);
    CHECK(address(b) >= address(a) + 5 * sizeof(float));
}

TEST_CASE("rewinding gives the same memory again") {
    HostArena arena;
    (void)arena.take<float>(10);
    const auto mark = arena.mark();
    const auto first = arena.take<float>(large), second = arena.take<float>(large);
    arena.rewind(mark);
    CHECK(address(arena.take<float>(large)) == address(first));
    CHECK(address(arena.take<float>(large)) == address(second));
}

TEST_CASE("a reset joins the chunks, and the next step fits into one") {
    HostArena arena;
    for (int i = 0; i < 3; ++i) (void)arena.take<float>(large);
    const std::size_t peak = arena.peak_bytes();
    CHECK(arena.moves() == 0);
    arena.reset();
    CHECK(arena.moves() == 1);
    const auto first = arena.take<float>(large), second = arena.take<float>(large);
    CHECK(address(second) == address(first) + large * sizeof(float));
    (void)arena.take<float>(large);
    CHECK(arena.peak_bytes() == peak);
    arena.reset();
    CHECK(arena.moves() == 1);
}

TEST_CASE("the peak counts what was taken, not the unused ends of chunks") {
    HostArena arena;
    (void)arena.take<float>(16);  // its own chunk beside the large ones
    for (int i = 0; i < 3; ++i) (void)arena.take<float>(large);
    CHECK(arena.peak_bytes() == (16 + 3 * large) * sizeof(float));
}

TEST_CASE("what was reserved is taken without growing; more than that grows as ever") {
    HostArena arena;
    constexpr std::size_t bytes = 3 * large * sizeof(float);
    arena.reserve(bytes);
    CHECK_THROWS_AS(arena.reserve(bytes), Error);
    CHECK(arena.peak_bytes() == 0);
    arena.reset();
    const auto first = arena.take<float>(large);
    for (int i = 1; i < 3; ++i)
        CHECK(address(arena.take<float>(large)) == address(first) + i * large * sizeof(float));
    arena.reset();
    CHECK(arena.moves() == 0);
    for (int i = 0; i < 4; ++i) (void)arena.take<float>(large);
    arena.reset();
    CHECK(arena.moves() == 1);
}

TEST_CASE("borrowed memory is used from its end, as far as it may be used") {
    alignas(64) static std::byte lent[1024];
    HostArena arena;
    const auto inside = [&](HostView<std::byte> taken) {
        return taken.data() >= lent && taken.data() < lent + sizeof lent;
    };
    arena.borrow({lent, sizeof lent});
    CHECK_FALSE(inside(arena.take<std::byte>(64)));
    CHECK(arena.peak_bytes() == 64);
    arena.keep_out_of(512);
    const auto mark = arena.mark();
    CHECK(arena.take<std::byte>(200).data() == lent + 768);
    CHECK(arena.take<std::byte>(256).data() == lent + 512);
    CHECK_FALSE(inside(arena.take<std::byte>(1)));
    CHECK(arena.peak_bytes() == 128);
    arena.keep_out_of(448);
    CHECK_FALSE(inside(arena.take<std::byte>(65)));
    CHECK(arena.take<std::byte>(64).data() == lent + 448);
    arena.keep_out_of(960);  // where something was taken already
    CHECK_FALSE(inside(arena.take<std::byte>(64)));
    arena.rewind(mark);
    CHECK(arena.take<std::byte>(64).data() == lent + 960);
    arena.borrow({});
    CHECK_FALSE(inside(arena.take<std::byte>(64)));
}

TEST_CASE("what was borrowed ends with a reset, and has to be aligned") {
    alignas(64) static std::byte lent[256];
    HostArena arena;
    arena.borrow({lent, sizeof lent});
    arena.keep_out_of(0);
    CHECK(arena.take<std::byte>(64).data() == lent + 192);
    CHECK(arena.peak_bytes() == 0);
    arena.reset();
    CHECK(arena.moves() == 0);
    (void)arena.take<std::byte>(64);
    CHECK(arena.peak_bytes() == 64);
    CHECK_THROWS_AS(arena.borrow({lent + 1, 64}), Error);
    CHECK_THROWS_AS(arena.borrow({lent, 65}), Error);
}

TEST_CASE("dry memory is counted and not there") {
    device::Arena<device::DrySpace> arena;
    constexpr std::size_t tebibyte = std::size_t{1} << 40;
    const auto first = arena.take<std::byte>(tebibyte);
    CHECK(reinterpret_cast<std::uintptr_t>(first.data()) % 64 == 0);
    const auto mark = arena.mark();
    (void)arena.take<std::byte>(3 * tebibyte);
    arena.rewind(mark);
    (void)arena.take<std::byte>(2 * tebibyte);
    CHECK(arena.peak_bytes() == 4 * tebibyte);
}

TEST_CASE("buffers are zeroed, and moved without copying") {
    device::Buffer<float, HostSpace> buffer(100);
    for (const float value : buffer.view()) CHECK(value == 0);
    const float* data = buffer.view().data();
    const auto moved = std::move(buffer);
    CHECK(moved.view().data() == data);
}
