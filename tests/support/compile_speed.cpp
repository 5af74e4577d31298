// SPDX-License-Identifier: Apache-2.0
// tests/run.sh compiles this source to tell how fast a machine is. Figures stay comparable only as
// long as it stays as it is.
#include <algorithm>
#include <cstddef>
#include <map>
#include <numeric>
#include <sstream>
#include <string>
#include <unordered_map>
#include <variant>
#include <vector>

namespace {

using Value = std::variant<int, double, std::string>;

template <std::size_t Depth>
double nested_sum(const std::vector<double>& values) {
    std::vector<double> sums(values.size());
    std::partial_sum(values.begin(), values.end(), sums.begin());
    std::stable_sort(sums.begin(), sums.end(), [](double a, double b) { return a * Depth < b; });
    if constexpr (Depth == 0)
        return sums.empty() ? 0 : sums.back();
    else
        return nested_sum<Depth - 1>(sums) + sums.size();
}

std::map<std::string, Value> parsed(const std::string& text) {
    std::map<std::string, Value> values;
    for (std::size_t at = 0, end = 0; (end = text.find(';', at)) != std::string::npos;
         at = end + 1) {
        const std::size_t sign = text.find('=', at);
        if (sign < end) values[text.substr(at, sign - at)] = text.substr(sign + 1, end - sign - 1);
    }
    return values;
}

}  // namespace

int main(int count, char** words) {
    std::unordered_map<std::string, std::vector<double>> numbers;
    for (int i = 1; i < count; ++i)
        for (const auto& [name, value] : parsed(words[i]))
            if (const auto* text = std::get_if<std::string>(&value)) {
                std::istringstream in(*text);
                for (double number; in >> number;) numbers[name].push_back(number);
            }
    double sum = 0;
    for (const auto& [name, values] : numbers) sum += nested_sum<3>(values);
    return sum > 0 ? 0 : 1;
}
