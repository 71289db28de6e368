import { describe, expect, it } from 'vitest'
import { editorAddress, editorProblem, editors, type KnownEditor } from './editor.logic.ts'

describe('the address that opens a file in an editor', () => {
  it('has the path and the line', () => {
    expect(editorAddress('vscode', '/code/a b.ts', 12)).toBe('vscode://file/code/a%20b.ts:12')
    expect(editorAddress('jetbrains', '/code/a.ts')).toBe('jetbrains://open?file=/code/a.ts&line=1')
    expect(editorAddress('vscode://vscode-remote/ssh-remote+host{path}:{line}', '/code/a.ts', 3)).toBe(
      'vscode://vscode-remote/ssh-remote+host/code/a.ts:3',
    )
  })

  it.each(Object.keys(editors) as KnownEditor[])(
    'of %s contains no character of a name as its own',
    (name) => {
      const address = editorAddress(name, '/w/a?b#c&d:e+f%g\nh"i', 7) ?? ''
      expect(address).toContain('/w/a%3Fb%23c%26d%3Ae%2Bf%25g%0Ah%22i')
      expect(new URL(address).hash).toBe('')
    },
  )

  it('keeps dollar signs of the path', () => {
    expect(editorAddress('vscode', "/w/$$a$'b$&c", 7)).toBe("vscode://file/w/$$a$'b$%26c:7")
    expect(editorAddress('my:{path}', '/w/$$a')).toBe('my:/w/$$a')
  })

  it('is none for an address that would run a script or has no path', () => {
    for (const address of [
      'javascript:alert({path})',
      ' JavaScript:{path}',
      'data:text/html,{path}',
      '{path}',
      'x:',
      '',
    ])
      expect(editorAddress(address, '/a'), address).toBeUndefined()
    expect(editorProblem('myeditor://{path}')).toBeUndefined()
  })
})
