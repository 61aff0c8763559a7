"""Classify molecules as alcohols or ethers, which share formulas, and choose the learning rate by cross-validation."""

from sklearn.model_selection import cross_val_score, GridSearchCV, train_test_split

from edgecond import EdgeCondClassifier

NETWORK = "C(16)-C(16)-GMP-FC(2)"


def molecules() -> tuple[list[str], list[str]]:
    """Return molecules C_n H_(2n+2) O and their classes: the oxygen is at the end of the chain, or within it."""
    alcohols = ["C" * n + "O" for n in range(2, 22)]
    ethers = ["C" * left + "O" + "C" * (n - left) for n in range(2, 12) for left in (1, n // 2)]
    return alcohols + ethers, ["alcohol"] * len(alcohols) + ["ether"] * len(ethers)


def main() -> None:
    X, y = molecules()
    X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.25, stratify=y, random_state=0)
    classifier = EdgeCondClassifier(
        network=NETWORK, epochs=20, batch_size=16, settings={"sparsifications": 1}, random_state=0
    )

    print(f"accuracy in three folds: {cross_val_score(classifier, X_train, y_train, cv=3).round(2)}")
    search = GridSearchCV(classifier, {"learning_rate": [0.01, 0.1]}, cv=3).fit(X_train, y_train)
    print(f"best learning rate: {search.best_params_['learning_rate']}")
    print(f"accuracy on the test set: {search.score(X_test, y_test):.2f}")
    for smiles, probabilities in zip(("CCCO", "CCOC"), search.predict_proba(["CCCO", "CCOC"]), strict=True):
        columns = [f"{name} {p:.2f}" for name, p in zip(search.classes_, probabilities, strict=True)]
        print(f"{smiles}: {', '.join(columns)}")


if __name__ == "__main__":
    main()
