"""The command line of build.py."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence

from tools.shell import BuildError

EPILOG = """first time:  python3 build.py serve      a page that trains, at the address it prints
             python3 build.py test       every check, from nothing on a fresh machine
             python3 build.py VERB --help

Downloads are kept in ~/.cache/tabgrad (or TABGRAD_CACHE). TABGRAD_CHROMIUM names a browser."""


def main(words: Sequence[str]) -> int:
    """Runs one verb and returns the exit code; a failure is one line on standard error."""
    parser = _parser()
    options, rest = parser.parse_known_args(list(words))
    if rest and not options.takes_more:
        parser.error(f"unknown arguments: {' '.join(rest)}")
    options.rest = rest
    try:
        return int(options.verb(options) or 0)
    except BuildError as error:
        print(f"build.py: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("build.py: stopped.", file=sys.stderr)
        return 130


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="build.py", description="Builds, serves, tests and runs tabgrad.", epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter)
    verbs = parser.add_subparsers(title="verbs", required=True, metavar="VERB")
    _add_serve(verbs)
    _add(verbs, "build", _build, "make the static site dist/, for any host under any path")
    test = _add(verbs, "test", _test, "lint, types, then every test; more words go to pytest",
                takes_more=True)
    test.usage = "build.py test [-k EXPRESSION] [pytest arguments or paths]"
    _add_train(verbs)
    _add_finetune(verbs)
    _add_generate(verbs)
    _add_evaluate(verbs)
    bench = _add(verbs, "bench", _bench, "run benchmarks/NAME.py; more words go to it",
                 takes_more=True)
    bench.add_argument("name", metavar="NAME", help="a file of benchmarks/, without .py")
    return parser


def _add(verbs: argparse._SubParsersAction[argparse.ArgumentParser], name: str,
         verb: Callable[[argparse.Namespace], int | None], summary: str, *,
         takes_more: bool = False) -> argparse.ArgumentParser:
    sentence = summary[0].upper() + summary[1:] + "."
    parser = verbs.add_parser(name, help=summary, description=sentence,
                              formatter_class=argparse.ArgumentDefaultsHelpFormatter)
    parser.set_defaults(verb=verb, takes_more=takes_more)
    return parser


def _add_serve(verbs: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    serve = _add(verbs, "serve", _serve, "build, serve here, and rebuild when sources change")
    serve.add_argument("--port", type=int, default=None,
                       help="port to use; without it 8000, or any free one when that is in use")


def _add_train(verbs: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    train = _add(verbs, "train", _job, "train a model headless and save its checkpoint")
    train.add_argument("--text", required=True, metavar="FILE", help="the text to learn")
    train.add_argument("--preset", default="byte-tinygpt", metavar="NAME", help="the recipe")
    train.add_argument("--steps", type=int, default=200, metavar="N", help="optimizer steps")
    train.add_argument("--batch", type=int, default=None, metavar="B", help="rows of a batch")
    train.add_argument("--context", type=int, default=None, metavar="T", help="bytes of a row")
    train.add_argument("--learning-rate", type=float, default=None, metavar="X", help="its peak")
    train.add_argument("--out", required=True, metavar="DIR", help="folder for the checkpoint")
    _add_optimizer_options(train)
    _add_memory_options(train)
    _add_job_options(train, "train")


def _add_finetune(verbs: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    tune = _add(verbs, "finetune", _job, "train a model further on a file and save it")
    tune.add_argument("--model", required=True, metavar="DIR",
                      help="the base: a folder in the Hugging Face layout")
    tune.add_argument("--data", required=True, metavar="FILE",
                      help='plain text, or JSON Lines of {"text"} or {"messages"}')
    tune.add_argument("--out", required=True, metavar="DIR",
                      help="folder for the adapter (PEFT's files), or for the whole model")
    tune.add_argument("--method", choices=("lora", "full"), default="lora",
                      help="an adapter beside frozen weights, or every weight")
    tune.add_argument("--rank", type=int, default=None, metavar="R", help="of the adapter")
    tune.add_argument("--alpha", type=float, default=None, metavar="X",
                      help="the adapter is scaled by alpha / rank")
    tune.add_argument("--targets", default=None, metavar="NAMES",
                      help="modules with an adapter, by commas, or all-linear")
    tune.add_argument("--steps", type=int, default=100, metavar="N", help="optimizer steps")
    tune.add_argument("--batch", type=int, default=None, metavar="B", help="rows of a batch")
    tune.add_argument("--context", type=int, default=None, metavar="T", help="tokens of a row")
    tune.add_argument("--learning-rate", type=float, default=None, metavar="X", help="its peak")
    tune.add_argument("--prompt", action="append", default=None, metavar="TEXT",
                      help="answered before, during and after; may be given several times")
    tune.add_argument("--max-new-tokens", type=int, default=None, metavar="N",
                      help="most tokens of an answer")
    tune.add_argument("--skip-bad-lines", action="store_true",
                      help="leave out lines that cannot be used, instead of stopping there")
    _add_optimizer_options(tune)
    _add_memory_options(tune)
    _add_job_options(tune, "finetune")


def _add_optimizer_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--optim", choices=("adamw", "sgd", "lion", "muon"), default=None,
                        help="the optimizer; AdamW if none is named")
    parser.add_argument("--momentum", type=float, default=None, metavar="X", help="of SGD and Muon")
    parser.add_argument("--schedule", default=None, metavar="NAME",
                        help="of the learning rate: cosine, linear, constant, warmup_stable_decay")


def _add_memory_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--gradient-checkpointing", action="store_true", default=None,
                        help="less memory for a third more time")
    parser.add_argument("--activation-dtype", choices=("float32", "bfloat16", "float16"),
                        default=None, help="how what recomputing starts from is kept: 16 bits "
                                           "take half and round it")


def _add_generate(verbs: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    generate = _add(verbs, "generate", _job, "continue a prompt with a model")
    generate.add_argument("--model", required=True, metavar="DIR",
                          help="what train --out wrote, or a folder in the Hugging Face layout")
    generate.add_argument("--prompt", required=True, metavar="TEXT", help="how the text begins")
    generate.add_argument("--chat", action="store_true",
                          help="the prompt is a question, put through the model's chat template")
    generate.add_argument("--max-new-tokens", type=int, default=200, metavar="N", help="how many")
    generate.add_argument("--temperature", type=float, default=0.8, metavar="X",
                          help="0 takes the likeliest each time")
    generate.add_argument("--top-k", type=int, default=0, metavar="K", help="0 keeps all")
    generate.add_argument("--top-p", type=float, default=1.0, metavar="P",
                          help="keeps the likeliest that make up this share")
    generate.add_argument("--context", type=int, default=None, metavar="T",
                          help="tokens of the longest text; by default the model's own, at most "
                               "4096")
    _add_job_options(generate, "generate")


def _add_evaluate(verbs: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    judge = _add(verbs, "evaluate", _job, "measure a model, with or without an adapter")
    judge.add_argument("--model", required=True, metavar="DIR",
                       help="a folder in the Hugging Face layout, or what train --out wrote")
    judge.add_argument("--adapter", default=None, metavar="DIR", help="a folder with PEFT's files")
    judge.add_argument("--text", action="append", metavar="FILE",
                       help="held-out text: loss, perplexity, bits per byte")
    judge.add_argument("--tasks", action="append", metavar="SET",
                       help="everyday, endings, or a JSON Lines file: accuracy by log-likelihood")
    judge.add_argument("--conditions", action="append", metavar="SET",
                       help="the same, answered in writing: base, few-shot, adapter, retrieval")
    judge.add_argument("--retrieve", default=None, metavar="FILE",
                       help="the text that --conditions looks things up in")
    judge.add_argument("--shots", type=int, default=None, metavar="N",
                       help="examples of few-shot, taken from the start of the set")
    judge.add_argument("--chat", action="store_true", default=None,
                       help="the prompts of --conditions go through the model's chat template")
    judge.add_argument("--memorisation", action="append", metavar="FILE",
                       help="training text: what of it is recited verbatim")
    judge.add_argument("--prefixes", type=int, default=None, metavar="N", help="of that check")
    judge.add_argument("--context", type=int, default=None, metavar="T",
                       help="most tokens that a prediction looks at")
    _add_job_options(judge, "evaluate")


def _add_job_options(parser: argparse.ArgumentParser, job: str) -> None:
    parser.add_argument("--seed", type=int, default=1, metavar="S", help="of every random number")
    parser.add_argument("--runtime", choices=("browser", "native"), default="browser",
                        help="the built page in headless Chromium, or CPython on wgpu")
    parser.add_argument("--json", metavar="FILE", help="also write the result to this file")
    parser.set_defaults(job=job)


def _serve(options: argparse.Namespace) -> None:
    from tools.serve import serve
    serve(options.port)


def _build(options: argparse.Namespace) -> None:
    from tools import site
    site.build()


def _test(options: argparse.Namespace) -> int:
    from tools.checks import test
    return test(options.rest)


def _job(options: argparse.Namespace) -> int:
    from tools.launch import run_job
    return run_job(options)


def _bench(options: argparse.Namespace) -> int:
    from tools.launch import run_benchmark
    return run_benchmark(options.name, options.rest)
