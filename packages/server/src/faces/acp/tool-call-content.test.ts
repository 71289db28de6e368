import { expect, it } from 'vitest'
import { nativeDiffs } from './tool-call-content.ts'

it('an editor gets each file of a patch, even if lines look like headers', () => {
  const patch = '--- a/x.sql\n+++ b/x.sql\n@@ -1,2 +1,2 @@\n same\n--- old\n+++ new\n'
  const both = patch + patch.replaceAll('/x', '/y').replace(/\n$/, '\n\\ No newline at end of file\n')
  expect(nativeDiffs({ path: 'x.sql', patch: both }, '/project')).toEqual([
    { type: 'diff', path: '/project/x.sql', oldText: 'same\n-- old\n', newText: 'same\n++ new\n' },
    { type: 'diff', path: '/project/y.sql', oldText: 'same\n-- old\n', newText: 'same\n++ new' },
  ])
})
