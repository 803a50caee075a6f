"""One function for each command of protocol.json; a test checks that none is missing."""

from __future__ import annotations

from tabgrad.app.application import Command
from tabgrad.app.commands.adapters import adapters, add_adapter, delete_adapter, use_adapter
from tabgrad.app.commands.boot import boot
from tabgrad.app.commands.chat import (
    chat,
    complete,
    conversations,
    count_tokens,
    delete_conversation,
    save_conversation,
)
from tabgrad.app.commands.device import benchmark, profile, storage
from tabgrad.app.commands.evaluation import (
    compare_evaluations,
    delete_evaluation,
    evaluate,
    evaluations,
    export_evaluation,
    read_tasks,
)
from tabgrad.app.commands.finetune import (
    estimate_finetune,
    finetune,
    finetune_defaults,
    read_data,
)
from tabgrad.app.commands.generation import abort, generate
from tabgrad.app.commands.models import (
    add_model,
    cancel_download,
    delete_model,
    download_model,
    keep_model,
    load_model,
    model_facts,
    models,
    unload_model,
)
from tabgrad.app.commands.runs import delete, export_, import_, runs
from tabgrad.app.commands.take_home import take_home
from tabgrad.app.commands.texts import add_corpus, estimate
from tabgrad.app.commands.training import pause, restore, resume, save, step, stop, train

COMMANDS: dict[str, Command] = {
    "boot": boot, "add_corpus": add_corpus, "estimate": estimate, "train": train, "pause": pause,
    "resume": resume, "step": step, "stop": stop, "save": save, "restore": restore, "runs": runs,
    "delete": delete, "export": export_, "import": import_, "generate": generate, "abort": abort,
    "models": models, "model_facts": model_facts, "download_model": download_model,
    "cancel_download": cancel_download, "add_model": add_model, "delete_model": delete_model,
    "keep_model": keep_model, "load_model": load_model, "unload_model": unload_model,
    "chat": chat, "complete": complete, "count_tokens": count_tokens,
    "conversations": conversations, "save_conversation": save_conversation,
    "delete_conversation": delete_conversation,
    "read_data": read_data, "finetune_defaults": finetune_defaults,
    "estimate_finetune": estimate_finetune, "finetune": finetune,
    "adapters": adapters, "add_adapter": add_adapter, "delete_adapter": delete_adapter,
    "use_adapter": use_adapter, "take_home": take_home,
    "read_tasks": read_tasks, "evaluate": evaluate, "evaluations": evaluations,
    "delete_evaluation": delete_evaluation,
    "compare_evaluations": compare_evaluations, "export_evaluation": export_evaluation,
    "benchmark": benchmark, "profile": profile, "storage": storage}
