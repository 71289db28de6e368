/** The meaning of a tool's input fields, by their names. Agents have no common names for them. */

/** Fields that affect neither the action of a call nor its files: a rule need not name them. */
const harmless = new Set([
  'description',
  'timeout',
  'timeout_ms',
  'timeoutMs',
  'offset',
  'limit',
  'line',
  'replace_all',
  'replaceAll',
])

/**
 * True for a field that affects neither the action of a call nor its files. An object is never harmless, because agents
 * may use its content in any way.
 */
export function isHarmlessField(name: string, value: unknown): boolean {
  return harmless.has(name) && (value === null || typeof value !== 'object')
}

const files =
  /(path|file|file_?name|uri|director(y|ie)|dir|folder|destination|target|(?<!new_?)source)s?$|^cwd$/i

/** True for a field that names files: `path`, `file_path`, `notebookPath`, `target_file`, `uri`. */
export function isFileField(name: string): boolean {
  return files.test(name)
}

const written =
  fieldNames(`content contents text patch patchText diff changes edits codeEdit newSource oldString newString
  oldStr newStr oldText newText insertLine instruction instructions expectedReplacements cellId cellNumber cellType editMode
  title`)
const soughtFor =
  fieldNames(`pattern query glob regex include exclude type outputMode multiline headLimit caseSensitive pages
  viewRange title -A -B -C -i -n`)

/** True for a field of the tools that edit files. Fields that name files are not included. */
export function isWrittenField(name: string): boolean {
  return written.has(plain(name))
}

/** True for a field of the tools that read or search. Fields that name files are not included. */
export function isSoughtField(name: string): boolean {
  return soughtFor.has(plain(name))
}

function fieldNames(list: string): ReadonlySet<string> {
  return new Set(list.split(/\s+/).map(plain))
}

/** Removes the differences between `old_string` and `oldString`. Some agents use one form, and some the other. */
function plain(name: string): string {
  return name.toLowerCase().replaceAll('_', '')
}

/** The whole command of a call that runs a command. */
export function commandOf(input: unknown): string | undefined {
  if (typeof input !== 'object' || input === null) return undefined
  const { command, cmd } = input as Record<string, unknown>
  const found = command ?? cmd
  if (typeof found === 'string') return found
  return Array.isArray(found) && found.every((part) => typeof part === 'string') ? found.join(' ') : undefined
}

/**
 * The edited command that ran instead of the requested command; undefined if nobody edited the command. `allowed` is
 * the input in the answer.
 */
export function editedCommand(asked: unknown, allowed: unknown): string | undefined {
  const ran = commandOf(allowed)
  return ran === commandOf(asked) ? undefined : ran
}
