// SPDX-License-Identifier: Apache-2.0
// Chat templates of transformers, by which data, models and the programs that talk read
// conversations.
#include <doctest/doctest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "tests/launcher/programs/huggingface_run.hpp"
#include "tests/support/files.hpp"
#include "tests/support/run_program.hpp"

using namespace lockstep::tests;
using namespace lockstep::tests::huggingface;
using nlohmann::json;

namespace {

// A GPT-2 that reads conversations by a template; its end token ends each turn.
std::string with_template(const ScratchFolder& scratch) {
    std::string copy = scratch / "chat";
    for (const char* name :
         {"config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json"})
        write_text(copy + "/" + name, read_text(folder + "/" + name));
    write_text(copy + "/chat_template.jinja",
               "{% for m in messages %}{% if m.role not in ['system', 'user', 'assistant'] %}"
               "{{ raise_exception('No ' + m.role) }}{% endif %}{{ m.role[0] | upper }}: "
               "{{- m.content | trim }}{{ eos_token }}{% endfor %}"
               "{% if add_generation_prompt %}A:{% endif %}\n");
    return copy;
}

const std::string talk = R"({"messages": [{"role": "system", "content": "Be"},)"
                         R"({"role": "user", "content": "What say <|endoftext|>?"})";

}  // namespace

TEST_CASE("a chat template writes the rows, and travels with the data and the model") {
    const ScratchFolder scratch;
    const std::string like = with_template(scratch), rows = scratch / "rows.jsonl";
    write_text(rows, talk + R"(, {"role": "assistant", "content": " Speak. "}]})" + "\n");
    const auto prepared = run_well("lockstep prepare --format messages --input " + rows +
                                   " --like " + like + " --out " + (scratch / "data"));
    CHECK(contains(prepared.out, "the chat template of the tokenizer writes the conversations"));
    CHECK(contains(prepared.out, "% of the tokens have a label"));
    const auto shown = run_well("lockstep display_data " + (scratch / "data"));
    CHECK(contains(shown.out, "S:Be<|endoftext|>U:What say <|endoftext|>?<|endoftext|>A:"));
    // The token that ends the turn is shown, too.
    CHECK(contains(shown.out, "Speak.<|endoftext|>\n"));
    CHECK(read_text(scratch / "data/chat_template.jinja") ==
          read_text(like + "/chat_template.jinja"));
    run_well("lockstep train --model gpt2 --precision fp32 --init-model " + like + " -mf " +
             (scratch / "model") + " --data " + (scratch / "data") + " -bs 1 --max-train-steps 1");
    CHECK(read_text(scratch / "model/chat_template.jinja") ==
          read_text(like + "/chat_template.jinja"));
    write_text(rows, talk + "]}\n" + R"({"messages": [{"role": "tool", "content": "x"},)" +
                         R"({"role": "assistant", "content": "y"}]})" + "\n");
    refused("lockstep prepare --format messages --input " + rows + " --like " + like + " --out " +
                (scratch / "none"),
            {"rows.jsonl:2: message 2: ", (like + "/chat_template.jinja:1: No tool").c_str()});
    write_text(rows, R"({"messages": [{"role": "user", "contnet": "x"}]})"
                     "\n");
    refused("lockstep generate -mf " + (scratch / "model") + " --input " + rows,
            {"rows.jsonl:1: ", "\"messages\" has one without a \"content\""});
}

namespace {

// Conversations of one to three turns, whose answers are of very unequal lengths.
std::string unequal_talks() {
    std::string lines;
    for (int i = 0; i < 13; ++i) {
        json messages = json::array();
        for (int turn = 0; turn <= i % 3; ++turn) {
            std::string answer = "I";
            for (int word = 0; word < (i * 7 + turn * 5) % 6; ++word) answer += " a";
            messages.push_back({{"role", "user"}, {"content", "so"}});
            messages.push_back({{"role", "assistant"}, {"content", i % 5 == 0 ? "" : answer}});
        }
        lines += json{{"messages", messages}}.dump() + "\n";
    }
    return lines;
}

}  // namespace

TEST_CASE("a conversation as one row has the labels, losses and gradients of its turns") {
    const ScratchFolder scratch;
    const std::string like = with_template(scratch), text = scratch / "rows.jsonl";
    write_text(text, unequal_talks());
    const auto prepared = [&](const std::string& rows) {
        std::string out = scratch / rows;
        run_well("lockstep prepare --format messages --row-of " + rows + " --input " + text +
                 " --valid " + text + " --like " + like + " --out " + out);
        CHECK(contains(run_well("lockstep inspect --verify " + out).out, "intact"));
        return out;
    };
    const std::string whole = prepared("conversation"), turns = prepared("turn");
    const auto info = [](const std::string& data) {
        return json::parse(read_text(data + "/dataset.json"));
    };
    const json of_whole = info(whole).at("splits")[0], of_turns = info(turns).at("splits")[0];
    CHECK(of_whole.at("rows") == 13);
    CHECK(of_turns.at("rows") == 25);
    CHECK(of_whole.at("label_tokens") == of_turns.at("target_tokens"));
    CHECK(info(whole).at("format_version") == 2);
    CHECK(info(turns).at("format_version") == 1);
    CHECK(info(whole).at("splits")[1].at("rows") == 25);
    const auto last_loss = [&](const std::string& data, int ranks, const std::string& more) {
        const std::string model = data + std::to_string(ranks);
        run_well("lockstep multiprocessing_train --distributed-world-size " +
                 std::to_string(ranks) + " --model gpt2 --precision fp32 --init-model " + like +
                 " -mf " + model + " --data " + data +
                 " --optimizer sgd -lr 0.5 --momentum 0 --lr-scheduler none --warmup-updates -1 "
                 "--threads 1 -bs 40 --log-every-n-steps 1 --max-train-steps 2 " +
                 more);
        std::istringstream lines(read_text(model + "/metrics.jsonl"));
        double loss = 0;
        for (std::string line; std::getline(lines, line);)
            if (const json entry = json::parse(line); entry.at("kind") == "train") {
                CHECK(entry.at("truncated_rows") == 0);
                CHECK(entry.at("tokens") == of_whole.at("label_tokens"));
                loss = entry.at("loss").get<double>();
            }
        return loss;
    };
    // Of the second step over all rows, after one by the gradients of all rows.
    const double loss = last_loss(turns, 1, "");
    CHECK(loss > 0);
    CHECK(last_loss(whole, 1, "") == doctest::Approx(loss).epsilon(1e-6));
    CHECK(last_loss(whole, 2, "") == doctest::Approx(loss).epsilon(1e-6));
    CHECK(last_loss(whole, 3, "--zero 2") == doctest::Approx(loss).epsilon(1e-6));
}

TEST_CASE("what half of a folder of transformers says is refused, and nothing is written there") {
    const ScratchFolder scratch;
    const std::string like = with_template(scratch), rows = scratch / "rows.jsonl";
    const std::string prepare = "lockstep prepare --format messages --input " + rows + " --like " +
                                like + " --out " + (scratch / "none");
    write_text(rows, talk + R"(, {"role": "assistant", "content": "a", "weight": "0"}]})" + "\n");
    refused(prepare, {"rows.jsonl:1: a message has a 'weight' of", "0 (no label) or 1"});
    refused("lockstep train --init-model " + like + " -mf " + like + "/sub --max-train-steps 1" +
                " --data " + (scratch / "none"),
            {"into which no run writes"});
    std::filesystem::remove(like + "/chat_template.jinja");
    std::filesystem::create_symlink("../nowhere", like + "/chat_template.jinja");
    refused(prepare, {"chat_template.jinja: is a link to nowhere"});
}

TEST_CASE("generate and interactive talk through the chat template") {
    const ScratchFolder scratch;
    const std::string model = with_template(scratch);
    write_text(scratch / "talks.jsonl", talk + "]}\n");
    const auto options = " --inference greedy --max-length 9";
    const auto said = run_well("lockstep generate -mf " + model + " --json --input " +
                               (scratch / "talks.jsonl") + options);
    const json reply = json::parse(said.out);
    CHECK(reply.at("prompt").size() == 2);
    CHECK(reply.at("prompt")[0].at("content") == "Be");
    const std::string past = "1 prompt was read without the model's chat template";
    CHECK(!contains(said.err, past));
    const auto plain = run_well("lockstep generate -mf " + model + " --prompt What" + options);
    CHECK(contains(plain.err, past));
    const auto heard =
        run_line("lockstep interactive -mf " + model + " --system Be" + options,
                 {.standard_input = "What say <|endoftext|>?\n", .environment = {}, .folder = {}});
    REQUIRE_MESSAGE(heard.code == 0, heard.err);
    CHECK(contains(heard.out, "model: " + reply.at("reply").get<std::string>()));
    write_text(scratch / "bad.jsonl", R"({"messages": [{"role": "tool", "content": "x"}]})");
    const auto bad =
        run_line("lockstep generate -mf " + model + " --input " + (scratch / "bad.jsonl"));
    CHECK(bad.code != 0);
    CHECK(contains(bad.err, "bad.jsonl:1: " + model + "/chat_template.jinja:1: No tool"));
    refused("lockstep interactive -mf " + folder + " --system Be",
            {"--system", "has no chat template"});
    const auto none =
        run_line("lockstep generate -mf " + folder + " --input " + (scratch / "talks.jsonl"));
    CHECK(none.code != 0);
    CHECK(contains(none.err, "talks.jsonl:1: \"messages\", but the model has no chat template"));
}
