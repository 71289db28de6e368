import { useId, useState } from 'react'
import { editorName, editorProblem, editors, isKnownEditor } from '../base/editor.logic.ts'
import { preferences } from '../base/preferences.ts'
import { useStore } from '../base/store.ts'

/** The editor that opens files, on the machine of this browser. */
export function EditorField() {
  const chosen = useStore(preferences, (state) => state.editor)
  const [isOther, setOther] = useState(chosen !== undefined && !isKnownEditor(chosen))
  const id = useId()
  const choose = (choice: string) => {
    setOther(choice === 'other')
    if (choice !== 'other') setEditor(choice === '' ? undefined : choice)
  }
  return (
    <div>
      <label htmlFor={id} className="block pb-1.5 font-semibold">
        Editor
      </label>
      <select
        id={id}
        value={isOther ? 'other' : (chosen ?? '')}
        onChange={(event) => choose(event.target.value)}
        className="field pointer-coarse:min-h-11"
      >
        <option value="">None</option>
        {Object.keys(editors).map((editor) => (
          <option key={editor} value={editor}>
            {editorName(editor)}
          </option>
        ))}
        <option value="other">Another address</option>
      </select>
      {isOther && <AddressField />}
      <p className="max-w-prose pt-1.5 text-xs text-soft">
        Opens files of sessions on the machine of this browser. The editor finds only files that this machine
        has.
      </p>
    </div>
  )
}

/** The address of an editor, stored as soon as it is valid. */
function AddressField() {
  const chosen = useStore(preferences, (state) => state.editor)
  const [address, setAddress] = useState(chosen !== undefined && !isKnownEditor(chosen) ? chosen : '')
  const id = useId()
  const problem = address === '' ? undefined : editorProblem(address)
  return (
    <div className="pt-2">
      <input
        aria-label="Address of the editor"
        aria-describedby={id}
        aria-invalid={problem !== undefined}
        placeholder="myeditor://open?file={path}&line={line}"
        spellCheck={false}
        value={address}
        onChange={({ target: { value } }) => {
          setAddress(value)
          if (value === '' || editorProblem(value) === undefined) setEditor(value === '' ? undefined : value)
        }}
        className="field w-full max-w-xl font-mono pointer-coarse:min-h-11"
      />
      <p id={id} role="status" className="pt-1 text-xs text-bad">
        {problem}
      </p>
    </div>
  )
}

function setEditor(editor: string | undefined): void {
  preferences.set(({ editor: _, ...others }) => (editor === undefined ? others : { ...others, editor }))
}
