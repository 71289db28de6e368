import { isRecord } from '@parley/protocol'

/**
 * The shapes of an agent's messages: for each type of message, the paths of its fields and the JSON types of their
 * values. Values are not compared, because they differ between runs.
 */
export type Shapes = ReadonlyMap<string, Shape>

export type Shape = {
  /** The scenarios in which the message occurs. */
  readonly scenarios: ReadonlySet<string>
  /** The JSON types of the values, by path. */
  readonly fields: ReadonlyMap<string, ReadonlySet<string>>
}

/** The lines of the recording of each scenario, by the name of the scenario. */
export type Recording = ReadonlyMap<string, readonly unknown[]>

export type ShapeChange =
  | { readonly kind: 'type-appeared' | 'type-vanished'; readonly type: string; readonly scenarios: string[] }
  | {
      readonly kind: 'field-appeared' | 'field-vanished'
      readonly type: string
      readonly path: string
    }
  | {
      readonly kind: 'field-changed'
      readonly type: string
      readonly path: string
      readonly before: string[]
      readonly after: string[]
    }

type MutableShape = { readonly scenarios: Set<string>; readonly fields: Map<string, Set<string>> }

export function shapesOf(recording: Recording): Shapes {
  const shapes = new Map<string, MutableShape>()
  for (const [scenario, lines] of recording) {
    for (const { type, message } of messagesIn(lines)) {
      const shape = shapes.get(type) ?? { scenarios: new Set(), fields: new Map() }
      shapes.set(type, shape)
      shape.scenarios.add(scenario)
      addFields(shape.fields, '', message)
    }
  }
  return shapes
}

/** All shapes of both. */
export function union(one: Shapes, other: Shapes): Shapes {
  const all = new Map<string, MutableShape>()
  for (const [type, { scenarios, fields }] of [...one, ...other]) {
    const shape = all.get(type) ?? { scenarios: new Set(), fields: new Map() }
    all.set(type, shape)
    for (const scenario of scenarios) shape.scenarios.add(scenario)
    for (const [path, kinds] of fields) {
      shape.fields.set(path, (shape.fields.get(path) ?? new Set()).union(kinds))
    }
  }
  return all
}

/**
 * Compares the shapes of two releases. Of a part that appeared or vanished, only its top is reported, without the fields
 * inside it.
 */
export function compareShapes(before: Shapes, after: Shapes): ShapeChange[] {
  const changes: ShapeChange[] = []
  for (const type of [...new Set([...before.keys(), ...after.keys()])].toSorted()) {
    const [old, now] = [before.get(type), after.get(type)]
    if (old && now) changes.push(...compareFields(type, old, now))
    else {
      const scenarios = [...((old ?? now)?.scenarios ?? [])].toSorted()
      changes.push({ kind: old ? 'type-vanished' : 'type-appeared', type, scenarios })
    }
  }
  return changes
}

function compareFields(type: string, { fields: old }: Shape, { fields: now }: Shape): ShapeChange[] {
  const changed = [...old].flatMap(([path, kinds]): ShapeChange[] => {
    const [before, after] = [known(kinds), known(now.get(path) ?? new Set())]
    if (before.length === 0 || after.length === 0 || before.some((one) => after.includes(one))) return []
    return [{ kind: 'field-changed', type, path, before, after }]
  })
  return [
    ...topsWithout(old, now).map((path) => ({ kind: 'field-vanished', type, path }) as const),
    ...changed,
    ...topsWithout(now, old).map((path) => ({ kind: 'field-appeared', type, path }) as const),
  ]
}

/** The JSON types without null: if a field can be null, the recordings contain null only by chance. */
const known = (kinds: ReadonlySet<string>) => [...kinds].filter((kind) => kind !== 'null').toSorted()

type Fields = Shape['fields']

/** The paths that only `fields` has, without those inside another one of them. */
function topsWithout(fields: Fields, others: Fields): string[] {
  const missing = [...fields.keys()].filter((path) => !others.has(path)).toSorted()
  return missing.filter((path) => !missing.some((top) => top !== path && isInside(path, top)))
}

function isInside(path: string, top: string): boolean {
  return path.startsWith(top) && /^[.[<]/.test(path.slice(top.length))
}

type Message = { readonly type: string; readonly message: Readonly<Record<string, unknown>> }

/**
 * The messages of the agent, with their types. Left out: the messages of Parley in a recording of both directions, and
 * the marks of the recorder.
 */
export function messagesIn(lines: readonly unknown[]): Message[] {
  const asked = new Map<unknown, string>()
  return lines.flatMap((line): Message[] => {
    if (!isRecord(line)) return []
    const message = isRecord(line.message) && typeof line.from === 'string' ? line.message : line
    if (line.from === 'host') {
      if (typeof message.method === 'string') asked.set(message.id, message.method)
      return []
    }
    const type = typeOf(message, asked)
    return type === undefined ? [] : [{ type, message }]
  })
}

function typeOf(
  message: Readonly<Record<string, unknown>>,
  asked: ReadonlyMap<unknown, string>,
): string | undefined {
  const { method, type, subtype, id } = message
  if (typeof method === 'string') return method
  if (typeof type === 'string') {
    if (type.startsWith('parley.')) return undefined
    return typeof subtype === 'string' ? `${type}/${subtype}` : type
  }
  const request = asked.get(id)
  if (request === undefined) return undefined
  return `${'error' in message ? 'error' : 'answer'} of ${request}`
}

/** Fields whose values name the kind of the object that contains them. */
const kindFields = ['type', 'sessionUpdate'] as const

function addFields(fields: Map<string, Set<string>>, path: string, value: unknown): void {
  if (Array.isArray(value)) {
    for (const item of value) addField(fields, `${path}[]`, item)
    return
  }
  if (!isRecord(value)) return
  const kind =
    path === '' ? undefined : kindFields.map((name) => value[name]).find((one) => typeof one === 'string')
  const inside = kind === undefined ? path : `${path}<${kind}>`
  if (kind !== undefined) note(fields, inside, 'object')
  for (const [key, item] of Object.entries(value)) {
    addField(fields, [inside, nameOf(key)].filter(Boolean).join('.'), item)
  }
}

function addField(fields: Map<string, Set<string>>, path: string, value: unknown): void {
  note(fields, path, Array.isArray(value) ? 'array' : value === null ? 'null' : typeof value)
  addFields(fields, path, value)
}

function note(fields: Map<string, Set<string>>, path: string, kind: string): void {
  fields.set(path, (fields.get(path) ?? new Set()).add(kind))
}

/** A key that is data, such as an id or a path, becomes a star. */
function nameOf(key: string): string {
  return /^[A-Za-z_$@][\w$@./:-]*$/.test(key) && !/\d{4}/.test(key) ? key : '*'
}
