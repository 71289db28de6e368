import type { NewEnvironment } from '@parley/protocol'
import { relativeProblem } from '../base/folder-problem.logic.ts'

export type VariableForm = {
  /** Empty if the variable is for a folder, not for one session. */
  readonly sessionId: string
  readonly folder: string
  readonly name: string
  readonly value: string
}

export const emptyVariable: VariableForm = { sessionId: '', folder: '', name: '', value: '' }

/** The variable in the format of the server, or the first problem with the form. The server checks the name. */
export function variableOf(form: VariableForm): { body: NewEnvironment } | { problem: string } {
  const [name, folder] = [form.name.trim(), form.folder.trim()]
  if (form.sessionId === '') {
    if (folder === '') return { problem: 'Enter the folder that the variable is for.' }
    const wrong = relativeProblem(folder)
    if (wrong) return { problem: wrong.text }
  }
  if (!/^[A-Za-z_][A-Za-z0-9_]*$/.test(name)) {
    return { problem: 'Enter a name of letters, digits and _, such as GITHUB_TOKEN.' }
  }
  if (form.value === '') return { problem: 'Enter a value.' }
  const place = form.sessionId === '' ? { folder } : { sessionId: form.sessionId }
  return { body: { ...place, variables: { [name]: form.value } } }
}
