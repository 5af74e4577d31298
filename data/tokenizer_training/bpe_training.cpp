// SPDX-License-Identifier: Apache-2.0
#include "data/tokenizer_training/bpe_training.hpp"

#include <algorithm>
#include <array>
#include <unordered_map>

#include "data/bpe/byte_alphabet.hpp"
#include "data/text/unicode.hpp"
#include "data/tokenizer_training/pair_queue.hpp"

namespace lockstep::data {
namespace {

constexpr std::int32_t bytes = 256;

// Returns all bytes in the order of the characters that stand for them.
std::array<std::uint8_t, bytes> bytes_by_character() {
    std::array<std::uint8_t, bytes> ordered{};
    for (std::size_t i = 0; i < ordered.size(); ++i) ordered[i] = static_cast<std::uint8_t>(i);
    std::sort(ordered.begin(), ordered.end(), [](std::uint8_t a, std::uint8_t b) {
        return unicode::decode(character_of_byte(a)).code_point <
               unicode::decode(character_of_byte(b)).code_point;
    });
    return ordered;
}

// The pieces that there are so far.
class Pieces {
public:
    explicit Pieces(const std::vector<std::string>& special_tokens) {
        for (const std::string& token : special_tokens) id_of(token);
        for (const std::uint8_t byte : bytes_by_character())
            ids_of_bytes_[byte] = id_of(std::string(character_of_byte(byte)));
    }

    // Adds the piece if it is new. Different pairs may join to the same piece.
    std::int32_t id_of(const std::string& piece) {
        const auto [known, fresh] = ids_.try_emplace(piece, size());
        if (fresh) texts_.push_back(piece);
        return known->second;
    }
    std::int32_t id_of(std::uint8_t byte) const noexcept { return ids_of_bytes_[byte]; }
    const std::string& text(std::int32_t id) const noexcept {
        return texts_[static_cast<std::size_t>(id)];
    }
    std::int32_t size() const noexcept { return static_cast<std::int32_t>(texts_.size()); }
    std::vector<std::string> take() { return std::move(texts_); }

private:
    std::unordered_map<std::string, std::int32_t> ids_;
    std::vector<std::string> texts_;
    std::array<std::int32_t, bytes> ids_of_bytes_{};
};

// The symbols of all words. They become fewer.
class Words {
public:
    Words(const std::vector<TokenCount>& words, const Pieces& pieces, PairQueue& queue)
        : queue_(queue) {
        for (const auto& [text, count] : words) {
            words_.push_back({symbols_.size(), text.size(), static_cast<std::int64_t>(count)});
            for (const char byte : text)
                symbols_.push_back(pieces.id_of(static_cast<std::uint8_t>(byte)));
        }
        for (std::uint32_t word = 0; word < words_.size(); ++word) {
            const std::int32_t* symbol = symbols_of(word);
            for (std::size_t i = 1; i < words_[word].length; ++i)
                queue_.change({symbol[i - 1], symbol[i]}, words_[word].count, word);
        }
        queue_.queue_changes();
    }

    // Joins a pair wherever it is in a word, from the left.
    void join(std::uint32_t word, SymbolPair pair, std::int32_t joined) {
        Word& facts = words_[word];
        std::int32_t* symbol = symbols_of(word);
        std::size_t kept = 0;
        for (std::size_t i = 0; i < facts.length; ++i) {
            const bool found =
                symbol[i] == pair.left && i + 1 < facts.length && symbol[i + 1] == pair.right;
            if (!found) {
                symbol[kept++] = symbol[i];
                continue;
            }
            if (kept > 0) {
                queue_.change({symbol[kept - 1], pair.left}, -facts.count, word);
                queue_.change({symbol[kept - 1], joined}, facts.count, word);
            }
            if (i + 2 < facts.length) {
                queue_.change({pair.right, symbol[i + 2]}, -facts.count, word);
                queue_.change({joined, symbol[i + 2]}, facts.count, word);
            }
            symbol[kept++] = joined;
            ++i;
        }
        facts.length = kept;
    }

private:
    struct Word {
        std::size_t begin, length;
        std::int64_t count;
    };
    std::int32_t* symbols_of(std::uint32_t word) noexcept {
        return symbols_.data() + words_[word].begin;
    }

    PairQueue& queue_;
    std::vector<std::int32_t> symbols_;
    std::vector<Word> words_;
};

// The later of two equal merges counts.
std::vector<MergePieces> merges_of(const std::vector<SymbolPair>& joined, const Pieces& pieces) {
    std::unordered_map<std::uint64_t, std::size_t> last;
    for (std::size_t i = 0; i < joined.size(); ++i) last[joined[i].key()] = i;
    std::vector<MergePieces> merges;
    for (std::size_t i = 0; i < joined.size(); ++i)
        if (last[joined[i].key()] == i)
            merges.emplace_back(pieces.text(joined[i].left), pieces.text(joined[i].right));
    return merges;
}

}  // namespace

TrainedBpe train_bpe(const std::vector<TokenCount>& words, const BpeTrainingOptions& options) {
    Pieces pieces(options.special_tokens);
    PairQueue queue;
    Words all(words, pieces, queue);
    std::vector<SymbolPair> joined;
    const std::int64_t least = std::max<std::int64_t>(1, options.min_frequency);
    PairQueue::Top top;
    while (pieces.size() < options.vocab_size && queue.pop(top) && top.count >= least) {
        const std::int32_t id =
            pieces.id_of(pieces.text(top.pair.left) + pieces.text(top.pair.right));
        joined.push_back(top.pair);
        for (const std::uint32_t word : top.words) all.join(word, top.pair, id);
        queue.queue_changes();
    }
    std::vector<MergePieces> merges = merges_of(joined, pieces);
    return {pieces.take(), std::move(merges)};
}

}  // namespace lockstep::data
