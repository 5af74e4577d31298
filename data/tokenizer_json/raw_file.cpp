// SPDX-License-Identifier: Apache-2.0
#include "data/tokenizer_json/raw_file.hpp"

#include <set>

#include "data/text/git_lfs.hpp"
#include "runtime/core/error.hpp"
#include "runtime/core/printable.hpp"
#include "runtime/core/text_start.hpp"

namespace lockstep::data {
namespace {

using Json = nlohmann::json;

constexpr std::size_t max_levels = 64, max_values = 2'000'000;

// Takes the events of the parser. It keeps the two long lists as they are and builds values from
// everything else.
class Builder final : public nlohmann::json_sax<Json> {
public:
    explicit Builder(RawTokenizerFile& file) : file_(file) {}

    // Takes the next object for a vocabulary.
    void expect_vocabulary() { next_ = Place::vocabulary; }

    bool null() override { return add(nullptr); }
    bool boolean(bool value) override { return add(value); }
    bool number_integer(number_integer_t value) override {
        if (place_ == Place::vocabulary) refuse_id(std::to_string(value));
        return add(value);
    }
    bool number_unsigned(number_unsigned_t value) override {
        if (place_ != Place::vocabulary) return add(value);
        if (value >= static_cast<std::uint64_t>(id_limit)) refuse_id(std::to_string(value));
        file_.vocabulary.back().second = static_cast<std::int32_t>(value);
        return true;
    }
    bool number_float(number_float_t value, const string_t& text) override {
        if (place_ == Place::vocabulary) refuse_id(text);
        return add(value);
    }
    bool string(string_t& value) override {
        if (place_ == Place::merges) {
            file_.merges.push_back(
                merge_of_line(value, file_.path + ": model/merges/" + number_of_merge()));
            return true;
        }
        if (place_ != Place::pair) return add(std::move(value));
        pair_.push_back(std::move(value));
        if (pair_.size() > 2) refuse_merge();
        return true;
    }
    bool binary(binary_t&) override { return false; }
    bool start_object(std::size_t) override {
        if (next_ == Place::vocabulary) {
            place_ = std::exchange(next_, Place::other);
            return true;
        }
        return add(Json::object());
    }
    bool end_object() override {
        if (place_ == Place::vocabulary) {
            place_ = Place::other;
            return true;
        }
        return close();
    }
    bool start_array(std::size_t) override {
        if (place_ == Place::merges) {
            place_ = Place::pair;
            pair_.clear();
            return true;
        }
        if (next_ == Place::merges) {
            place_ = std::exchange(next_, Place::other);
            return true;
        }
        return add(Json::array());
    }
    bool end_array() override {
        if (place_ == Place::pair) {
            if (pair_.size() != 2) refuse_merge();
            file_.merges.emplace_back(std::move(pair_[0]), std::move(pair_[1]));
            place_ = Place::merges;
            return true;
        }
        if (place_ == Place::merges) {
            place_ = Place::other;
            return true;
        }
        return close();
    }
    bool key(string_t& name) override {
        if (place_ == Place::vocabulary) {
            file_.vocabulary.emplace_back(std::move(name), 0);
            return true;
        }
        Level& level = levels_.back();
        if (!level.names.insert(name).second)
            refuse("\"" + shown(name) + "\" is twice in an object");
        if (levels_.size() == 2 && levels_.front().name == "model") {
            if (name == "vocab") next_ = Place::vocabulary;
            if (name == "merges") next_ = Place::merges;
        }
        level.name = std::move(name);
        return true;
    }
    bool parse_error(std::size_t byte, const std::string&, const Json::exception&) override {
        refuse("not JSON, at byte " + std::to_string(byte));
    }

private:
    enum class Place { other, vocabulary, merges, pair };
    struct Level {
        Json* value;
        std::string name;  // of an object's member, which was read last
        std::set<std::string> names;
    };

    [[noreturn]] void refuse(const std::string& what) const {
        throw Error(ErrorKind::data, file_.path + ": " + what);
    }
    [[noreturn]] void refuse_id(const std::string& id) const {
        refuse("the piece '" + shown(file_.vocabulary.back().first) + "' has the id " + shown(id) +
               "; ids are whole numbers from 0 to " + std::to_string(id_limit - 1));
    }
    [[noreturn]] void refuse_merge() const {
        refuse("model/merges/" + number_of_merge() + " is not a pair of pieces");
    }
    std::string number_of_merge() const { return std::to_string(file_.merges.size()); }

    Json& put(Json value) {
        if (levels_.empty()) return file_.rest = std::move(value);
        Level& level = levels_.back();
        if (level.value->is_object()) return (*level.value)[level.name] = std::move(value);
        level.value->push_back(std::move(value));
        return level.value->back();
    }
    bool add(Json value) {
        if (place_ == Place::vocabulary)
            refuse("the piece '" + shown(file_.vocabulary.back().first) +
                   "' has no whole number as its id");
        if (place_ != Place::other) refuse_merge();
        next_ = Place::other;
        if (++values_ > max_values)
            refuse("it has more than " + std::to_string(max_values) + " values");
        const bool opens = value.is_structured();
        Json& placed = put(std::move(value));
        if (opens) levels_.push_back({&placed, "", {}});
        if (levels_.size() > max_levels)
            refuse("its values are nested in more than " + std::to_string(max_levels) + " levels");
        return true;
    }
    bool close() {
        levels_.pop_back();
        return true;
    }

    RawTokenizerFile& file_;
    Place place_ = Place::other;
    Place next_ = Place::other;  // what a list or an object is that begins now
    std::vector<Level> levels_;
    std::vector<std::string> pair_;
    std::size_t values_ = 0;
};

}  // namespace

MergePieces merge_of_line(std::string_view line, const std::string& origin) {
    const std::size_t space = line.find(' ');
    if (space == std::string_view::npos || line.find(' ', space + 1) != std::string_view::npos)
        throw Error(ErrorKind::data,
                    origin + ": '" + shown(line) + "' is not two pieces with a space between them");
    return {std::string(line.substr(0, space)), std::string(line.substr(space + 1))};
}

RawTokenizerFile parse_tokenizer_file(const std::string& path, std::string_view text) {
    refuse_lfs_pointer(path, text);
    RawTokenizerFile file{path, {}, {}, {}, {}, {}};
    text.remove_prefix(mark_bytes(text, path));
    Builder builder(file);
    Json::sax_parse(text, &builder);
    return file;
}

RawTokenizerFile parse_vocabulary_file(const std::string& path, std::string_view text) {
    refuse_lfs_pointer(path, text);
    RawTokenizerFile file{path, {}, {}, {}, {}, {}};
    text.remove_prefix(mark_bytes(text, path));
    Builder builder(file);
    builder.expect_vocabulary();
    Json::sax_parse(text, &builder);
    if (!file.rest.is_null()) throw Error(ErrorKind::data, path + ": not an object of pieces");
    return file;
}

}  // namespace lockstep::data
