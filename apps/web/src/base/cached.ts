type Known<Key, Value> = { get(key: Key): Value | undefined; set(key: Key, value: Value): unknown }

/** Returns a function that calls `create` once for each key. With a `WeakMap`, a value lasts as long as its key. */
export function cached<Key, Value>(
  create: (key: Key) => Value,
  known: Known<Key, Value> = new Map(),
): (key: Key) => Value {
  return (key) => {
    const value = known.get(key) ?? create(key)
    known.set(key, value)
    return value
  }
}
