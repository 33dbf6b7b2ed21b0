"""A campaign of seeded hostile input against every format that is read and every port."""
