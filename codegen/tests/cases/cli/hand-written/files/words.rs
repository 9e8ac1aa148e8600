fn mine() {}
