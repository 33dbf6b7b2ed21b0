"""Trains all rows of a table of training/RESULTS.md, and prints the table.

    python -m benchmarks.tables resume_ner --data PATH/TO/data --runs runs/tables
    python -m benchmarks.tables resume_ner --data PATH/TO/data --runs runs/tables --only S-LSTM
    python -m benchmarks.tables conll2003 --data PATH/TO/data --runs runs/tables \\
        --vectors glove.6B.50d.txt --bert all_minilm_l6_v2

Each training run has its own run folder; its `tfreps` command is printed before it starts. The
results of finished runs are read from results.json. To resume interrupted runs, run the same
command again. Metrics of fdu_mtl are means over the eight domains with a test set; fdu_mtl_together
trains one model on all sixteen domains. With several seeds, the table shows the mean and half the
range over the seeds, and the values of the last metric for each seed. Rows with published word
vectors or a published BERT need --vectors or --bert, and are left out without it. Rows with their
own word vectors, ELMo or BERT need the files of benchmarks.pretraining; the ELMo of mr is that of
fdu_mtl.
"""

import pathlib
import re
import statistics

from benchmarks.domains import DOMAINS, encoding_of
from benchmarks.runner import chosen_rows, parse, print_table
from benchmarks.trainings import run_folder, train_once

# Parts of commands. A part may contain the names of others.
PARTS = {
    "RUN": "--seed {seed} --run {run} --resume",
    "RESUME_NER": "--train {data}/resume_ner/train.char.bmes "
    "--validation {data}/resume_ner/dev.char.bmes --test {data}/resume_ner/test.char.bmes "
    "--scheme bmes --tokens characters",
    "HMM": "train-hmm RESUME_NER --run {run}",
    "DEFAULT_NER": "train-tagger RESUME_NER RUN",
    "NER": "DEFAULT_NER --config none --constrain decode",
    "WEIBO": "--train {data}/weibo/train.all.bmes --validation {data}/weibo/dev.all.bmes "
    "--scheme bmes --tokens characters",
    "WEIBO_NER": "train-tagger WEIBO RUN",
    "CONLL": "train-tagger --train {data}/conll2003/eng.train "
    "--validation {data}/conll2003/eng.testa --scheme bioes RUN",
    "MR": "train-classifier --train {data}/mr/train.tsv --validation {data}/mr/dev.tsv RUN",
    "CHN": "train-classifier --train {data}/chnsenticorp/train.tsv --format tsv --first-row data "
    "--text-field 0 --label-field 1 --tokens characters RUN",
    "HOTELS": "train-classifier --train {data}/hotel_reviews/train_sentiment.txt "
    "--test {data}/hotel_reviews/test_sentiment.txt --format python RUN",
    "HOTEL": "HOTELS --tokens characters --max-length 400",
    "HOTEL_BERT": "HOTELS --config bert_6x384 --bert {inputs}/bert --learning-rate 1e-4 "
    "--set bert_dropout=0.1 --patience 3 --epochs 8",
    "AVERAGE": "RUN --max-length 256 --monitor val_auc --set ema_momentum=0.99",
    "FDU_MTL": "train-classifier --train {data}/fdu_mtl/{domain}.task.train "
    "--test {data}/fdu_mtl/{domain}.task.test --encoding {encoding} AVERAGE",
    "REVIEWS": "FDU_MTL --patience 3 --lowercase",
    "ALL": "train-classifier --train {inputs}/all.train.tsv --test {inputs}/all.test.tsv AVERAGE",
    "TOGETHER": "ALL --patience 3 --lowercase",
    "WHOLE": "--num-layers 6 --set truncation_rate=0",
    "BERT": "--encoder bert --bert {inputs}/bert --set bert_dropout=0.1 "
    "--bert-learning-rate 2e-4 --dropout 0.5 --epochs 30 --schedule constant",
    "BERT_REVIEWS": "FDU_MTL --patience 3 BERT --pooling mean_max",
    "SCRATCH": "--set bert_from_scratch=true",
    "OWN": "--vectors {inputs}/vectors.txt",
    "SLOW": "--set embedding_learning_rate=3e-4",
    "ELMO": "--train-vectors {inputs}/{domain}.train.hdf5 "
    "--test-vectors {inputs}/{domain}.test.hdf5",
    "ELMO_TOGETHER": "--train-vectors {inputs}/all.train.hdf5 "
    "--test-vectors {inputs}/all.test.hdf5",
    "FINE_TUNED": "--elmo {reviews}/elmo --elmo-fine-tune --epochs 5",
    "BILSTM": "--encoder bilstm --units 150",
    "SLSTM": "--encoder slstm --units 150 --set num_steps=3",
    "CNN": "--encoder cnn --config none",
    "PLAIN_CNN": "CNN --ngrams 0",
    "LIGHT_CNN": "PLAIN_CNN --dropout 0.2",
    "WIDE_CNN": "CNN --set widths=1,2,3,4 num_filters=150 --patience 3",
    "LINEAR": "--linear-features",
    "AVERAGED": "--bert-learning-rate 1e-4 --set decay=0.93 --epochs 15 --set ema_momentum=0.99",
    "NGRAMS": "--ngrams 3 --set linear_learning_rate=5e-3 l2=0 --learning-rate 1e-3 "
    "--bert-learning-rate 2e-5 --set ema_momentum=0.99 --epochs 12",
    "ATTENTION": "--pooling attention",
    "GLOVE": "--vectors {vectors}",
    "MINILM": "--encoder bert --bert {bert}",
    "MR_ELMO": "--train-vectors {reviews}/mr.train.hdf5 --validation-vectors {reviews}/mr.dev.hdf5",
    "MR_CNN": "MR --tokens treebank PLAIN_CNN",
}
# Number of seeds, name of the row, and command, below the name of each table.
ROWS = """
resume_ner
1 | HMM, zero counts as 1e-10 | HMM --floor 1e-10 --unknown uniform
1 | HMM, add-k tuned on validation data | HMM
3 | CRF on character features | NER --encoder linear --learning-rate 0.01
3 | BiLSTM | NER --encoder bilstm --no-use-crf
3 | BiLSTM+CRF | NER --encoder bilstm
3 | BiLSTM+CRF, linear features | NER --encoder bilstm LINEAR --min-count 2 --set decay=0.93 \
    --epochs 20 --set ema_momentum=0.99
3 | BiLSTM+CRF, defaults | DEFAULT_NER
3 | LAC's encoder+CRF | DEFAULT_NER --init lac --tokens all_characters
3 | S-LSTM | NER --encoder slstm --units 300 --no-use-crf
3 | S-LSTM+CRF | NER --encoder slstm --units 300
1 | BERT+CRF, from scratch | NER BERT SCRATCH
3 | BERT+CRF | NER BERT
3 | BERT+CRF, linear features | NER BERT LINEAR
3 | BERT+CRF, linear features, averaged weights | NER BERT LINEAR AVERAGED
weibo
1 | HMM, add-k tuned on validation data | train-hmm WEIBO --run {run}
3 | CRF on character features | WEIBO_NER --encoder linear --learning-rate 0.01
3 | BiLSTM+CRF, without a recipe | WEIBO_NER --config none
3 | BiLSTM+CRF, defaults | WEIBO_NER
1 | BiGRU+CRF, defaults | WEIBO_NER --encoder bigru
3 | LAC's encoder+CRF | WEIBO_NER --init lac --tokens all_characters
conll2003
3 | BiLSTM+CRF, characters, defaults | CONLL --tokens treebank
3 | BiLSTM+CRF, characters | CONLL --config bilstm_vectors
3 | BiLSTM+CRF, characters, GloVe | CONLL --config bilstm_vectors GLOVE
3 | S-LSTM+CRF, characters, GloVe | CONLL --config slstm_vectors GLOVE
1 | BiLSTM+CRF, characters, GloVe, without a recipe | CONLL GLOVE
1 | S-LSTM+CRF, characters, GloVe, without a recipe | CONLL GLOVE --encoder slstm --epochs 14
3 | MiniLM+CRF | CONLL MINILM --bert-learning-rate 2e-4
1 | MiniLM+CRF, lower learning rate | CONLL MINILM --bert-learning-rate 5e-5 --epochs 4
mr
3 | TextCNN | MR_CNN
3 | TextCNN, GloVe | MR_CNN GLOVE
3 | TextCNN, ELMo frozen | MR_CNN MR_ELMO --no-words
3 | TextCNN, ELMo fine-tuned | MR_CNN FINE_TUNED --no-words
3 | TextCNN, GloVe, ELMo frozen | MR_CNN GLOVE MR_ELMO
3 | TextCNN, GloVe, ELMo fine-tuned | MR_CNN GLOVE FINE_TUNED
3 | TextCNN, n-grams | MR CNN
3 | TextCNN, n-grams, defaults | MR
3 | TextCNN, GloVe, n-grams | MR GLOVE
3 | TextCNN, GloVe, n-grams, recipe | MR --config cnn_vectors GLOVE
3 | MiniLM | MR MINILM
1 | MiniLM, LoRA | MR MINILM --lora-rank 8
fdu_mtl
3 | TextCNN | REVIEWS LIGHT_CNN
1 | BiLSTM | REVIEWS BILSTM
1 | S-LSTM | REVIEWS SLSTM
1 | S-LSTM, attention | REVIEWS SLSTM ATTENTION
3 | TextCNN, own vectors | REVIEWS OWN PLAIN_CNN
3 | TextCNN, own vectors, linear features | REVIEWS OWN CNN LINEAR
1 | BiLSTM, own vectors | REVIEWS OWN SLOW BILSTM
1 | S-LSTM, own vectors | REVIEWS OWN SLOW SLSTM
1 | S-LSTM, attention, own vectors | REVIEWS OWN SLOW SLSTM ATTENTION
1 | S-LSTM, attention, own vectors, linear features | REVIEWS OWN SLOW SLSTM ATTENTION LINEAR
1 | BERT, from scratch | BERT_REVIEWS SCRATCH
1 | BERT | BERT_REVIEWS
1 | BERT, linear features | BERT_REVIEWS LINEAR
3 | TextCNN, ELMo frozen | REVIEWS ELMO --no-words LIGHT_CNN
1 | TextCNN, own vectors, ELMo frozen, linear features | REVIEWS OWN ELMO CNN LINEAR
1 | BiLSTM, attention, ELMo frozen | REVIEWS ELMO --no-words BILSTM ATTENTION
3 | S-LSTM, attention, GloVe, linear features | REVIEWS GLOVE SLSTM ATTENTION LINEAR
3 | MiniLM | FDU_MTL MINILM
1 | TextCNN, ELMo fine-tuned | REVIEWS FINE_TUNED --no-words PLAIN_CNN
3 | TextCNN, GloVe | REVIEWS GLOVE LIGHT_CNN
3 | TextCNN, GloVe, ELMo frozen | REVIEWS GLOVE ELMO PLAIN_CNN
1 | TextCNN, GloVe, ELMo fine-tuned | REVIEWS GLOVE FINE_TUNED PLAIN_CNN
fdu_mtl_together
3 | TextCNN | TOGETHER PLAIN_CNN
3 | TextCNN, own vectors | TOGETHER OWN PLAIN_CNN
3 | TextCNN, own vectors, linear features | TOGETHER OWN CNN LINEAR
1 | S-LSTM, attention, own vectors, linear features | TOGETHER OWN SLOW SLSTM ATTENTION LINEAR
1 | TextCNN, ELMo frozen | TOGETHER ELMO_TOGETHER --no-words PLAIN_CNN
1 | TextCNN, own vectors, ELMo frozen, linear features | TOGETHER OWN ELMO_TOGETHER CNN LINEAR
1 | TextCNN, own vectors, ELMo fine-tuned, linear features | TOGETHER OWN FINE_TUNED --epochs 3 \
    CNN LINEAR
1 | S-LSTM, attention, GloVe, linear features | TOGETHER GLOVE SLSTM ATTENTION LINEAR
1 | MiniLM | ALL MINILM
chnsenticorp
1 | TextCNN, n-grams, without a recipe | CHN --config none
3 | TextCNN, n-grams, defaults | CHN
hotel_reviews
3 | TextCNN | HOTEL PLAIN_CNN
3 | TextCNN, own vectors | HOTEL OWN WIDE_CNN --ngrams 0
3 | TextCNN, own vectors, linear features | HOTEL OWN WIDE_CNN LINEAR
1 | S-LSTM | HOTEL SLSTM
1 | S-LSTM, own vectors | HOTEL OWN SLSTM
1 | BERT, 6 layers, from scratch | HOTEL_BERT WHOLE --pooling first --epochs 12 SCRATCH
1 | + pre-training | HOTEL_BERT WHOLE --pooling first
1 | + pooling: mean and max | HOTEL_BERT WHOLE
1 | + 3 layers of 6 | HOTEL_BERT --set truncation_rate=0
3 | + cut texts: the recipe of aespresso | HOTEL_BERT
3 | BERT of 3 layers, n-grams | HOTEL_BERT --bert {inputs}/bert3 NGRAMS
1 | the same, longer texts, none held out | HOTEL_BERT --bert {inputs}/bert3 NGRAMS \
    --max-length 500 --validation-split 0 --epochs 8
3 | first 3 layers of 6, n-grams with dropout, longer texts | HOTEL_BERT NGRAMS \
    --max-length 500 --set linear_dropout=0.8
"""


def command_of(words):
    """Returns a command with its parts instead of their names."""
    return " ".join(command_of(PARTS[word]) if word in PARTS else word for word in words.split())


def read_rows(lines):
    """Returns a dict from tables to dicts from names of rows to `(command, number of seeds)`."""
    tables, rows = {}, {}
    for line in lines:
        seeds, *cells = line.split(" | ")
        if cells:
            rows[cells[0]] = command_of(cells[1]), int(seeds)
        else:
            rows = tables[seeds] = {}
    return tables


TABLES = read_rows(ROWS.strip().splitlines())
PUBLISHED = "vectors", "bert"  # options that name published files
# Table -> heading of a column -> path of the metric in results.json.
COLUMNS = {
    "resume_ner": {
        "token P": ("test", "weighted", "precision"),
        "token R": ("test", "weighted", "recall"),
        "token F1": ("test", "weighted", "f1"),
        "entity F1": ("test", "spans", "micro", "f1"),
    },
    "weibo": {
        "accuracy": ("validation", "accuracy"),
        "entity F1": ("validation", "spans", "micro", "f1"),
    },
    "conll2003": {
        "accuracy": ("validation", "accuracy"),
        "entity F1": ("validation", "spans", "micro", "f1"),
    },
    "mr": {"accuracy": ("validation", "accuracy"), "AUC": ("validation", "auc")},
    "fdu_mtl": {"accuracy": ("test", "accuracy")},
    "fdu_mtl_together": {"accuracy": ("test", "accuracy")},
    "chnsenticorp": {"accuracy": ("validation", "accuracy"), "AUC": ("validation", "auc")},
    "hotel_reviews": {"accuracy": ("test", "accuracy"), "AUC": ("test", "auc")},
}


def main(argv=None):
    options = parse(
        argv,
        "benchmarks.tables",
        __doc__,
        table={"choices": TABLES, "help": "Table to train and print."},
        data=(..., "Folder of the data sets."),
        runs=(..., "Folder for the run folders. Finished runs in it are not repeated."),
        vectors=(None, "File of published word vectors, such as glove.6B.50d.txt."),
        bert=(None, "Published BERT: a name, an address or a folder of all-MiniLM-L6-v2."),
        only=("", "Train only the row with this name or, if there is none, all rows whose names "
              "contain this text. What training/RESULTS.md adds to a name in parentheses is "
              "ignored."),
        seeds=(3, "Maximum number of seeds per row."),
        domains=(list(DOMAINS), "Domains of fdu_mtl.", {"choices": DOMAINS}),
    )  # fmt: skip
    results = {}
    table = TABLES[options.table]
    only = re.sub(r" \(.*\)$", "", options.only)
    for name in [only] if only in table else chosen_rows(table, only):
        command, seeds = table[name]
        if missing := missing_files(command, options):
            print(f"{name}: left out, because {' and '.join(missing)} is not given.", flush=True)
            continue
        seeds = range(min(seeds, options.seeds))
        results[name] = [train_all(options, name, command, seed) for seed in seeds]
        print(*cells(name, results[name], COLUMNS[options.table]), sep=" | ", flush=True)
    if not results:
        return 2
    columns = COLUMNS[options.table]
    rows = [cells(name, runs, columns) for name, runs in results.items()]
    print_table(f" | {' | '.join(columns)} | {[*columns][-1]} of each seed", rows)
    return 0


def missing_files(command, options):
    """Returns the options of the published files that a row needs and that are not given."""
    needed = [name for name in PUBLISHED if f"{{{name}}}" in command]
    return [f"--{name}" for name in needed if not getattr(options, name)]


def train_all(options, name, command, seed):
    """Returns the results of a row and seed, one per domain; runs the missing trainings first."""
    if "{domain}" not in command:
        return [train(options, f"{name}-{seed}", command, seed)]
    found = []
    for domain in options.domains:
        more = {"domain": domain, "encoding": encoding_of(domain)}
        found.append(train(options, f"{name}-{seed}/{domain}", command, seed, **more))
    return found


def train(options, name, command, seed, **more):
    """Returns the results of one training, which is run first unless it is finished."""
    run = run_folder(options.runs, options.table, name)
    inputs = pathlib.Path(options.runs, f"{options.table.removesuffix('_together')}-inputs")
    more |= {name: getattr(options, name) for name in PUBLISHED}
    more["reviews"] = pathlib.Path(options.runs, "fdu_mtl-inputs")
    words = command.format(data=options.data, run=run, inputs=inputs, seed=seed, **more).split()
    part = next(iter(COLUMNS[options.table].values()))[0]
    return train_once(run, words, last=part)


def cells(name, runs, columns):
    """Returns a row of the table: means, spreads, and the values of the last column by seed."""
    last = ", ".join(f"{value:.4f}" for value in values_of(runs, [*columns.values()][-1]))
    return [name, *(figure(runs, path) for path in columns.values()), last]


def values_of(runs, path):
    """Returns the values of a metric, one per seed: the means over the domains."""
    return [statistics.mean(look_up(results, path) for results in seed) for seed in runs]


def figure(runs, path):
    """Formats the mean over the seeds and half the range."""
    values = values_of(runs, path)
    spread = f" ± {(max(values) - min(values)) / 2:.4f}" if len(values) > 1 else ""
    return f"{statistics.mean(values):.4f}{spread}"


def look_up(results, path):
    for key in path:
        results = results[key]
    return results


if __name__ == "__main__":
    raise SystemExit(main())
