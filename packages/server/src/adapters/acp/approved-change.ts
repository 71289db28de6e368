/** A change of a file that a call describes, as far as the call describes it. */
export type Change = {
  readonly path: string
  readonly oldText?: string | null | undefined
  readonly newText?: string | undefined
  /** The input that was shown to a person, if the call has no texts. */
  readonly input?: unknown
}

export type Written = { readonly before: string | undefined; readonly content: string }

/** Whether the written content is what a person was shown: the whole file, or its changed part. */
export function isApproved({ oldText, newText, input }: Change, written: Written): boolean {
  if (newText === undefined) return isInInput(input, written)
  return newText === written.content || isReplaced(oldText, newText, written)
}

const whole = /^(content|contents|text|file_?text|new_?text|new_?content)$/i
const before = /^old_?(string|str|text)$/i
const after = /^new_?(string|str|text)$/i

/** Compares with the fields of an input: the whole text, or the old text and the new one. In doubt, returns false. */
function isInInput(input: unknown, written: Written): boolean {
  if (typeof input !== 'object' || input === null) return false
  const fields = Object.entries(input)
  const textOf = (name: RegExp) => {
    const value = fields.find(([field]) => name.test(field))?.[1]
    return typeof value === 'string' ? value : undefined
  }
  const newText = textOf(after)
  if (newText !== undefined && isReplaced(textOf(before), newText, written)) return true
  return fields.some(([name, value]) => whole.test(name) && value === written.content)
}

function isReplaced(oldText: string | null | undefined, newText: string, written: Written): boolean {
  const { before: text = '', content } = written
  if (!oldText) return false
  const at = text.indexOf(oldText)
  return at >= 0 && text.slice(0, at) + newText + text.slice(at + oldText.length) === content
}
