// SPDX-License-Identifier: Apache-2.0
#include "runtime/kernels/moment_codes.hpp"

#include <doctest/doctest.h>

#include <bit>
#include <cmath>
#include <vector>

#include "runtime/core/error.hpp"
#include "tests/runtime/kernels/moment_map_golden.hpp"
#include "tests/support/numbers.hpp"

using namespace lockstep;
using namespace lockstep::tests;
using kernels::DynamicMap;

namespace {

constexpr DynamicMap maps[] = {DynamicMap::with_sign, DynamicMap::without_sign};

struct Coded {
    std::vector<std::uint8_t> codes;
    std::vector<float> scales;
};

Coded encoded(DynamicMap map, const std::vector<float>& values) {
    Coded coded{std::vector<std::uint8_t>(values.size()),
                std::vector<float>(kernels::moment_scales(values.size()))};
    kernels::encode_moments(map, view_of(values), view_of(coded.codes), view_of(coded.scales));
    return coded;
}

std::vector<float> decoded(DynamicMap map, const Coded& coded) {
    std::vector<float> values(coded.codes.size());
    kernels::decode_moments(map, view_of(coded.codes), view_of(coded.scales), view_of(values));
    return values;
}

// Returns the least distance of any share from `share`.
double least_distance(DynamicMap map, double share) {
    double least = 2;
    for (const float other : kernels::moment_shares(map))
        least = std::min(least, std::fabs(double{other} - share));
    return least;
}

// Returns magnitudes between 2^-30 and 1, those of each binade at equal distances, and 1 itself.
std::vector<float> magnitudes() {
    std::vector<float> values;
    constexpr std::uint32_t step = 40'009, one = std::bit_cast<std::uint32_t>(1.0f);
    for (auto bits = std::bit_cast<std::uint32_t>(0x1p-30f); bits < one; bits += step)
        values.push_back(std::bit_cast<float>(bits));
    values.push_back(1);
    return values;
}

}  // namespace

TEST_CASE("the shares are those of bitsandbytes' dynamic maps") {
    for (const DynamicMap map : maps) {
        const auto& golden =
            map == DynamicMap::with_sign ? goldens::signed_map : goldens::unsigned_map;
        const auto shares = kernels::moment_shares(map);
        for (std::size_t code = 0; code < 256; ++code)
            CHECK(std::fabs(double{shares[code]} - golden[code]) <= 2e-7 * std::fabs(golden[code]));
        CHECK(shares[kernels::code_of_zero(map)] == 0);
        CHECK(shares[255] == 1);
    }
}

TEST_CASE("a cell's scale is its largest magnitude, and codes are shares of it") {
    // The decade from 0.1 to 1 has 64 shares of one sign, or 128: 0.1 + 0.9 (k + 0.5) / 64.
    const Coded first = encoded(DynamicMap::with_sign, {4, -4, 2, 0, -2});
    CHECK(first.scales == std::vector<float>{4});
    CHECK(first.codes == std::vector<std::uint8_t>{255, 0, 127 + 64 + 28, 127, 127 - 64 - 28});
    CHECK(decoded(DynamicMap::with_sign, first) ==
          std::vector<float>{4, -3.971875f, 2.003125f, 0, -2.003125f});
    const Coded second = encoded(DynamicMap::without_sign, {8, 4, 0});
    CHECK(second.scales == std::vector<float>{8});
    CHECK(second.codes == std::vector<std::uint8_t>{255, 128 + 56 - 1, 0});
    CHECK(decoded(DynamicMap::without_sign, second) == std::vector<float>{8, 3.978125f, 0});
}

TEST_CASE("each cell of 256 has a scale of its own") {
    std::vector<float> values(600, 1.0f);
    for (std::size_t i = 256; i < 512; ++i) values[i] = -1000;
    values[599] = 0.25f;
    const Coded coded = encoded(DynamicMap::with_sign, values);
    CHECK(coded.scales == std::vector<float>{1, 1000, 1});
    CHECK(decoded(DynamicMap::with_sign, coded)[255] == 1);
    CHECK(decoded(DynamicMap::with_sign, coded)[256] == doctest::Approx(-992.96875));
}

TEST_CASE("a value is its share times its cell's scale, bit for bit, on any size") {
    for (const DynamicMap map : maps) {
        const auto shares = kernels::moment_shares(map);
        for (const std::size_t n : {1u, 63u, 64u, 65u, 90u, 256u, 600u}) {
            Coded coded{std::vector<std::uint8_t>(n), {}};
            for (std::size_t i = 0; i < n; ++i)
                coded.codes[i] = static_cast<std::uint8_t>(101 * i + 7);  // all codes of 256
            for (std::size_t cell = 0; cell < kernels::moment_scales(n); ++cell)
                coded.scales.push_back(0.7f + static_cast<float>(cell));
            const auto values = decoded(map, coded);
            for (std::size_t i = 0; i < n; ++i)
                REQUIRE(values[i] == shares[coded.codes[i]] * coded.scales[i / 256]);
        }
    }
}

TEST_CASE("a code is that of the nearest share, in vectors and one by one") {
    for (const DynamicMap map : maps) {
        std::vector<float> values;
        for (const float magnitude : magnitudes()) {
            // Every cell has the scale 1.
            while (values.size() % 256 == 255 || values.size() % 256 == 0) values.push_back(1);
            values.push_back(magnitude);
            if (map == DynamicMap::with_sign) values.push_back(-magnitude);
        }
        values.push_back(1);
        const Coded coded = encoded(map, values);
        const auto shares = kernels::moment_shares(map);
        for (std::size_t i = 0; i < values.size(); ++i) {
            const auto alone = map == DynamicMap::with_sign
                                   ? kernels::moment_code<DynamicMap::with_sign>(values[i], 1)
                                   : kernels::moment_code<DynamicMap::without_sign>(values[i], 1);
            REQUIRE(coded.codes[i] == alone);
            const double share{values[i]}, chosen{shares[alone]};
            if (map == DynamicMap::without_sign && alone == 1) continue;
            REQUIRE(std::fabs(chosen - share) <=
                    least_distance(map, share) + 1e-6 * std::fabs(share));
        }
    }
}

TEST_CASE("coding what was decoded changes nothing, on any size") {
    for (const DynamicMap map : maps)
        for (const std::int64_t n : {1, 15, 16, 17, 255, 256, 257, 1000, 4097}) {
            auto values = random_numbers<float>(n, 3);
            for (float& value : values)
                value = map == DynamicMap::with_sign ? value : value * value;
            // The largest magnitude of a cell is positive, because -1 is none of the shares.
            for (std::size_t i = 0; i < values.size(); i += lockstep::kernels::moment_cell)
                values[i] = 8;
            const Coded coded = encoded(map, values);
            const Coded again = encoded(map, decoded(map, coded));
            CHECK(again.codes == coded.codes);
            CHECK(again.scales == coded.scales);
        }
}

TEST_CASE("every code of a cell that has its scale is coded as itself") {
    for (const DynamicMap map : maps) {
        Coded all{std::vector<std::uint8_t>(256), {3}};
        for (std::size_t code = 0; code < 256; ++code)
            all.codes[code] = static_cast<std::uint8_t>(code);
        const Coded again = encoded(map, decoded(map, all));
        CHECK(again.codes == all.codes);
        CHECK(again.scales == all.scales);
    }
}

TEST_CASE("cells of zeros and of what has no inverse are zeros; small squares are not 0") {
    for (const DynamicMap map : maps) {
        const std::uint8_t zero = kernels::code_of_zero(map);
        for (const float value : {0.0f, 1e-40f}) {
            const Coded coded = encoded(map, std::vector<float>(3, value));
            CHECK(coded.codes == std::vector<std::uint8_t>(3, zero));
            CHECK(coded.scales == std::vector<float>{0});
            CHECK(decoded(map, coded) == std::vector<float>(3, 0.0f));
        }
    }
    CHECK(encoded(DynamicMap::without_sign, {1, 1e-30f}).codes[1] == 1);
    CHECK(encoded(DynamicMap::with_sign, {1, 1e-30f}).codes[1] == 127);
}

TEST_CASE("codes and scales of another size are refused") {
    std::vector<float> values(257), scales(1);
    std::vector<std::uint8_t> codes(257);
    CHECK_THROWS_AS(kernels::encode_moments(DynamicMap::with_sign, view_of(values), view_of(codes),
                                            view_of(scales)),
                    Error);
    CHECK_THROWS_AS(kernels::decode_moments(DynamicMap::with_sign, view_of(codes), view_of(scales),
                                            view_of(values)),
                    Error);
}
