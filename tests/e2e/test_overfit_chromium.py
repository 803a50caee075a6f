"""The tab can learn: `tiny` memorises four kilobytes of one sentence."""

from __future__ import annotations

from tests.e2e.tab import Tab

SENTENCE = b"Sphinx of black quartz, judge my vow; pack 12 jugs. "
STEPS = 200
TEXT = (SENTENCE * 80)[:4096]


def test_tiny_overfits_a_repeated_sentence(tab: Tab) -> None:
    """From ln 256 to below 0.1, and it writes the sentence by heart."""
    corpus = tab.add_text(TEXT, "a pangram, again and again")
    run = tab.train(corpus, max_steps=STEPS, learning_rate=5e-3, warmup_steps=10,
                    weight_decay=0.0,
                    per_device_train_batch_size=4)
    tab.wait_for("done", run=run)
    losses = tab.losses()
    print(f"loss {losses[1]:.3f} -> {losses[STEPS]:.4f}")
    assert 5.4 < losses[1] < 5.7
    assert losses[STEPS] < 0.1
    reply = tab.command("generate", run=run, prompt="Sphinx of", max_new_tokens=60,
                        temperature=0.0, top_k=0, seed=0)
    assert ("Sphinx of" + reply["text"]).encode() == (SENTENCE * 2)[:69]
