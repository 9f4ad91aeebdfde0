/** Runs what it is given one after the other: what is given while something runs comes after it. Never waits. */

export function oneAtATime(): (what: () => void) => void {
  const queue: (() => void)[] = [];
  let isBusy = false;
  return (what) => {
    queue.push(what);
    if (isBusy) return;
    isBusy = true;
    try {
      for (let next = queue.shift(); next !== undefined; next = queue.shift()) next();
    } finally {
      isBusy = false;
    }
  };
}
